/**
 * Where a page makes its worker when the one before has lost its storage.
 *
 * When WebKit's storage process ends (2.50), it refuses IndexedDB to every document that was open, until it is reloaded, and to all
 * dedicated workers of that document, also those it makes later. It refuses it neither to a frame that is added later, nor to that
 * frame's workers.
 */
export class Frame {
  #element: HTMLIFrameElement | undefined;

  /**
   * In a new frame, since the storage may be lost more than once. What was made in the former one ends.
   *
   * @param make calls `new Worker(…)`, in words that bundlers know: so for the time of this call, the frame's class has that name
   */
  renewed<Made>(make: () => Made): Made {
    if (typeof document === 'undefined') return make();
    this.#element?.remove();
    this.#element = document.createElement('iframe');
    this.#element.hidden = true;
    document.documentElement.append(this.#element);
    const { Worker } = globalThis;
    globalThis.Worker = (this.#element.contentWindow as unknown as typeof globalThis).Worker;
    try {
      return make();
    } finally {
      globalThis.Worker = Worker;
    }
  }
}
