/** A page whose worker opens and closes a database in private files, while whatever nobody holds is collected. */
const worker = new Worker('/worker.js', { type: 'module' });

Object.assign(globalThis, {
  calls: {
    openings: (count: number) =>
      new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = ({ message }) => reject(new Error(message));
        worker.postMessage(count);
      }),
  },
});
