/**
 * An event of the global scope: the browser refuses this page or worker its storage, and will go on to. Storage says so; what hosts
 * databases in a worker listens, since another worker may be better off.
 */
export const STORAGE_LOST = 'settledb:storagelost';

/**
 * What is refused to a page may not be refused to a frame: its storage and its workers are there until it is removed.
 *
 * @returns one that is empty, added where an app does not replace what it shows
 */
export function hiddenFrame(): HTMLIFrameElement {
  const frame = document.createElement('iframe');
  frame.hidden = true;
  document.documentElement.append(frame);
  return frame;
}
