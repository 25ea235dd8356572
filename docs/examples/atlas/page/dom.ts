/** The little of a view library that this page needs. */

type Child = Node | string | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void) | undefined>;

export function element(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return fill(
    document.createElementNS('http://www.w3.org/2000/svg', tag) as SVGElement,
    attributes,
    children,
  );
}

function fill<E extends Element>(node: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== undefined && value !== false) node.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== undefined && child !== false) node.append(child);
  return node;
}

export function byId<E extends HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found as E;
}

/** Shows a message that a person should see, with something to do about it if there is; it goes by itself. */
export function notice(text: string, action?: { readonly label: string; readonly run: () => void }): void {
  const box = byId('notice');
  const close = (): void => {
    box.hidden = true;
  };
  const button =
    action !== undefined &&
    element(
      'button',
      {
        type: 'button',
        click: () => {
          close();
          action.run();
        },
      },
      action.label,
    );
  box.replaceChildren(element('span', {}, text), ...(button ? [button] : []));
  box.hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(close, NOTICE_MS);
}
let noticeTimer: ReturnType<typeof setTimeout> | undefined;
const NOTICE_MS = 10_000;

/** Does what was clicked; a failure is shown, not lost. */
export async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    notice((error as Error).message);
  }
}
