/** What is to be done at which time: a heap, and of tasks of the same time the one that was added first. */
import type { Standing } from './world';

interface Task {
  readonly time: number;
  readonly serial: number;
  readonly run: () => void;
  readonly tab: Standing | undefined;
  isOff: boolean;
}

export class Tasks {
  readonly #heap: Task[] = [];
  #serial = 0;

  /** @returns calls it off */
  add(time: number, run: () => void, tab: Standing | undefined): () => void {
    const task: Task = { time, serial: this.#serial++, run, tab, isOff: false };
    const heap = this.#heap;
    let at = heap.push(task) - 1;
    for (let parent = (at - 1) >> 1; at > 0 && isSooner(task, heap[parent]!); parent = (at - 1) >> 1) {
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = task;
    return () => {
      task.isOff = true;
    };
  }

  /** Takes the next one, if it is to be done until that time. */
  next(until: number): Task | undefined {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined || first.time > until) return undefined;
      this.#removeFirst();
      if (!first.isOff) return first;
    }
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isSooner(heap[child + 1]!, heap[child]!)) child++;
      if (!isSooner(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

const isSooner = (a: Task, b: Task): boolean => a.time < b.time || (a.time === b.time && a.serial < b.serial);
