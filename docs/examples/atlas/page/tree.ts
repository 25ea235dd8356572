/** The revision tree of a document as a picture: generations from left to right, a branch a line, the winner in gold. */
import type { SettleDB } from 'settledb';
import { element, svg } from './dom';
import type { Place } from './place';

const STEP = 92;
const LINE = 44;
const MARGIN = 22;
/** Generations drawn; of longer histories the last ones. */
const GENERATIONS_MAX = 12;

interface Leaf {
  readonly rev: string;
  readonly deleted: boolean;
  /** Revisions of the branch, oldest first. */
  readonly path: readonly string[];
}

export async function readLeaves(db: SettleDB<Place>, id: string): Promise<Leaf[]> {
  const rows = await db.get(id, { open_revs: 'all', revs: true });
  return rows.flatMap((row) => {
    if (!('ok' in row)) return [];
    const { _rev, _deleted, _revisions } = row.ok;
    const { start, ids } = _revisions ?? {
      start: Number.parseInt(_rev, 10),
      ids: [_rev.slice(_rev.indexOf('-') + 1)],
    };
    return [
      { rev: _rev, deleted: _deleted === true, path: ids.map((hash, i) => `${start - i}-${hash}`).reverse() },
    ];
  });
}

/** @param onPick called with a revision that was clicked: its body is there unless it was compacted away */
export function treePicture(
  leaves: readonly Leaf[],
  winner: string,
  onPick: (rev: string) => void,
): HTMLElement {
  const sorted = [...leaves].sort(
    (a, b) => Number(b.rev === winner) - Number(a.rev === winner) || b.path.length - a.path.length,
  );
  const generations = sorted.flatMap((leaf) => leaf.path.map(generationOf));
  const first = Math.max(Math.min(...generations), Math.max(...generations) - GENERATIONS_MAX + 1);
  const place = new Map<string, { x: number; y: number }>();
  const lines: SVGElement[] = [];
  const dots: SVGElement[] = [];
  const shown = sorted.filter(({ rev }) => generationOf(rev) >= first);
  for (const [row, leaf] of shown.entries()) {
    let last: { x: number; y: number } | undefined;
    for (const rev of leaf.path.filter((each) => generationOf(each) >= first)) {
      const known = place.get(rev);
      const at = known ?? { x: MARGIN + (generationOf(rev) - first) * STEP, y: MARGIN + row * LINE };
      if (known === undefined) {
        place.set(rev, at);
        if (last !== undefined) lines.push(edge(last, at));
        dots.push(dot(rev, at, leaf, winner, onPick));
      }
      last = at;
    }
  }
  const width = Math.max(...[...place.values()].map(({ x }) => x)) + MARGIN + 64;
  const height = (shown.length - 1) * LINE + 2 * MARGIN + 10;
  const picture = svg(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': 'Revision tree' },
    ...lines,
    ...dots,
  );
  const kinds = shown.map((leaf) => kindOf(leaf.rev, leaf, winner));
  const legend = LEGEND.filter(([kind]) =>
    kind === 'past' ? generations.length > shown.length : kinds.includes(kind),
  );
  const hidden = sorted.length - shown.length;
  return element(
    'figure',
    {},
    element('div', { class: 'tree' }, picture as unknown as Node),
    element(
      'figcaption',
      {},
      ...legend.map(([kind, words]) => element('span', { class: `key ${kind}` }, words)),
      hidden > 0 && element('span', {}, `${hidden} older branches are not drawn`),
    ),
  );
}

type KindOfRev = 'winner' | 'conflict' | 'deleted' | 'past';

const LEGEND: readonly (readonly [KindOfRev, string])[] = [
  ['winner', 'the winner, on every replica'],
  ['conflict', 'in conflict'],
  ['deleted', 'deleted'],
  ['past', 'past'],
];

function kindOf(rev: string, leaf: Leaf, winner: string): KindOfRev {
  if (rev === winner) return 'winner';
  if (rev !== leaf.rev) return 'past';
  return leaf.deleted ? 'deleted' : 'conflict';
}

const generationOf = (rev: string): number => Number.parseInt(rev, 10);

function edge(from: { x: number; y: number }, to: { x: number; y: number }): SVGElement {
  const middle = (from.x + to.x) / 2;
  return svg('path', {
    class: 'edge',
    d: `M${from.x} ${from.y} C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`,
  });
}

function dot(
  rev: string,
  at: { x: number; y: number },
  leaf: Leaf,
  winner: string,
  onPick: (rev: string) => void,
): SVGElement {
  const kind = kindOf(rev, leaf, winner);
  const label = `${generationOf(rev)}-${rev.slice(rev.indexOf('-') + 1, rev.indexOf('-') + 5)}`;
  return svg(
    'g',
    {
      class: `rev ${kind}`,
      'data-rev': rev,
      role: 'button',
      tabindex: 0,
      click: () => onPick(rev),
      keydown: (event) => {
        if (!['Enter', ' '].includes((event as KeyboardEvent).key)) return;
        event.preventDefault();
        onPick(rev);
      },
    },
    svg('circle', { cx: at.x, cy: at.y, r: kind === 'past' ? 5 : 8 }),
    svg('text', { x: at.x, y: at.y + 21, 'text-anchor': 'middle' }, label),
    svg('title', {}, `${rev}${kind === 'past' ? '' : ` (${kind})`}`),
  );
}
