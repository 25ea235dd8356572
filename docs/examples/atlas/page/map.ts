/** All places as dots on a map of the world. What changes lights up for a moment, wherever the change came from. */
import type { Catalogue, Entry } from './catalogue';
import { byId } from './dom';
import { HALF_HEIGHT, HALF_WIDTH, project } from './projection';

const GLOW_MS = 1500;
/** Places that light up at once; a whole dataset that arrives is seen by its dots. */
const GLOWS_MAX = 200;
/** CSS pixels around a click in which a place is found. */
const REACH = 14;
const MARGIN = 16;

interface Frame {
  readonly width: number;
  readonly height: number;
  readonly at: (position: readonly [number, number]) => readonly [number, number];
}

export class WorldMap {
  readonly #catalogue: Catalogue;
  readonly #canvas = byId('map').querySelector('canvas') as HTMLCanvasElement;
  readonly #glows = new Map<string, number>();
  #selected: string | undefined;
  #asked = false;

  constructor(catalogue: Catalogue, onPick: (id: string) => void) {
    this.#catalogue = catalogue;
    new ResizeObserver(() => this.#ask()).observe(this.#canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#ask());
    this.#canvas.addEventListener('click', (event) => {
      const found = this.#nearest(event.offsetX, event.offsetY);
      if (found !== undefined) onPick(found.id);
    });
  }

  select(id: string | undefined): void {
    this.#selected = id;
    this.#ask();
  }

  draw(changed: ReadonlySet<string>): void {
    const now = performance.now();
    for (const id of [...changed].slice(-GLOWS_MAX)) this.#glows.set(id, now);
    byId('welcome').hidden ||= this.#catalogue.size > 0;
    this.#ask();
  }

  #ask(): void {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.#paint(performance.now());
    });
  }

  #paint(now: number): void {
    const context = this.#canvas.getContext('2d');
    const frame = this.#frame();
    if (context === null || frame.width === 0) return;
    const scale = devicePixelRatio;
    this.#canvas.width = frame.width * scale;
    this.#canvas.height = frame.height * scale;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    const color = (name: string): string => getComputedStyle(this.#canvas).getPropertyValue(name);
    drawGrid(context, frame, color('--line'));
    const [green, red, gold] = [color('--green'), color('--red'), color('--gold')];
    const size = sizeIn(frame);
    for (const entry of this.#catalogue.all()) {
      if (entry.position === undefined) continue;
      context.globalAlpha = entry.kind === 'city' ? 0.55 : 1;
      const radius = (entry.kind === 'city' ? 1.1 : 2.6) * size;
      dot(context, frame.at(entry.position), radius, entry.conflicts > 0 ? red : green);
    }
    context.globalAlpha = 1;
    this.#paintGlows(context, frame, now, gold);
    const selected = this.#selected === undefined ? undefined : this.#catalogue.get(this.#selected);
    if (selected?.position !== undefined) {
      dot(context, frame.at(selected.position), 5, gold);
      ring(context, frame.at(selected.position), 9, gold);
    }
  }

  #paintGlows(context: CanvasRenderingContext2D, frame: Frame, now: number, color: string): void {
    for (const [id, since] of this.#glows) {
      const age = (now - since) / GLOW_MS;
      const position = this.#catalogue.get(id)?.position;
      if (age >= 1 || position === undefined) {
        this.#glows.delete(id);
        continue;
      }
      context.globalAlpha = 1 - age;
      ring(context, frame.at(position), (2 + 12 * age) * sizeIn(frame), color);
    }
    context.globalAlpha = 1;
    if (this.#glows.size > 0) this.#ask();
  }

  #frame(): Frame {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const scale = Math.min((width - 2 * MARGIN) / HALF_WIDTH, (height - 2 * MARGIN) / HALF_HEIGHT) / 2;
    return {
      width,
      height,
      at: ([latitude, longitude]) => {
        const [x, y] = project(latitude, longitude);
        return [width / 2 + x * scale, height / 2 - y * scale];
      },
    };
  }

  #nearest(x: number, y: number): Entry | undefined {
    const frame = this.#frame();
    let best: Entry | undefined;
    let least = REACH;
    for (const entry of this.#catalogue.all()) {
      if (entry.position === undefined) continue;
      const [left, top] = frame.at(entry.position);
      // Among neighbours, a country is what one aims at.
      const distance = Math.hypot(left - x, top - y) - (entry.kind === 'city' ? 0 : 3);
      if (distance < least) [best, least] = [entry, distance];
    }
    return best;
  }
}

/** Dots keep their proportion to the map, within what can be seen. */
const sizeIn = ({ width, height }: Frame): number => Math.max(0.6, Math.min(width / 900, height / 450));

function drawGrid(context: CanvasRenderingContext2D, { at }: Frame, color: string): void {
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.beginPath();
  for (let longitude = -180; longitude <= 180; longitude += 30) {
    for (let latitude = -90; latitude <= 90; latitude += 5) {
      const [x, y] = at([latitude, longitude]);
      if (latitude === -90) context.moveTo(x, y);
      else context.lineTo(x, y);
    }
  }
  for (let latitude = -90; latitude <= 90; latitude += 30) {
    context.moveTo(...at([latitude, -180]));
    context.lineTo(...at([latitude, 180]));
  }
  context.stroke();
}

function dot(
  context: CanvasRenderingContext2D,
  [x, y]: readonly [number, number],
  radius: number,
  color: string,
): void {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function ring(
  context: CanvasRenderingContext2D,
  [x, y]: readonly [number, number],
  radius: number,
  color: string,
): void {
  context.strokeStyle = color;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}
