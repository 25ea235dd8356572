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

/** Shows a message that a person should see; it goes by itself. */
export function notice(text: string): void {
  const box = byId('notice');
  box.textContent = text;
  box.hidden = false;
  setTimeout(() => {
    if (box.textContent === text) box.hidden = true;
  }, 8000);
}
