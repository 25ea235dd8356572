/** Events as the DOM has them, with a path of targets: down to the target for those who capture, and up again if it bubbles. */

type Listener = (event: SimulatedEvent) => void;

interface Listening {
  readonly listener: Listener;
  readonly capture: boolean;
  readonly once: boolean;
}

export class SimulatedEvent {
  readonly type: string;
  readonly bubbles: boolean;
  defaultPrevented = false;
  isStopped = false;
  target: SimulatedTarget | undefined;

  /** @param fields of its own, as `oldVersion` */
  constructor(
    type: string,
    { bubbles = false, ...fields }: { bubbles?: boolean; [field: string]: unknown } = {},
  ) {
    this.type = type;
    this.bubbles = bubbles;
    Object.assign(this, fields);
  }

  preventDefault(): void {
    this.defaultPrevented = true;
  }

  stopPropagation(): void {
    this.isStopped = true;
  }
}

export class SimulatedTarget {
  readonly #listening = new Map<string, Listening[]>();

  addEventListener(
    type: string,
    listener: Listener,
    options: { capture?: boolean; once?: boolean } = {},
  ): void {
    const all = this.#listening.get(type) ?? [];
    const { capture = false, once = false } = options;
    if (!all.some((one) => one.listener === listener && one.capture === capture))
      this.#listening.set(type, [...all, { listener, capture, once }]);
  }

  removeEventListener(type: string, listener: Listener, { capture = false } = {}): void {
    const all = this.#listening.get(type) ?? [];
    this.#listening.set(
      type,
      all.filter((one) => one.listener !== listener || one.capture !== capture),
    );
  }

  /** @param above what contains this target, the nearest first */
  dispatch(event: SimulatedEvent, ...above: SimulatedTarget[]): void {
    event.target = this;
    for (const target of [...above].reverse()) target.#hear(event, true);
    this.#hear(event, true);
    this.#hear(event, false);
    if (event.bubbles) for (const target of above) target.#hear(event, false);
  }

  #hear(event: SimulatedEvent, capture: boolean): void {
    if (event.isStopped) return;
    const handler = (this as unknown as Record<string, Listener | null | undefined>)[`on${event.type}`];
    if (!capture) handler?.call(this, event);
    for (const one of this.#listening.get(event.type) ?? []) {
      if (one.capture !== capture) continue;
      if (one.once) this.removeEventListener(event.type, one.listener, { capture });
      one.listener.call(this, event);
    }
  }
}
