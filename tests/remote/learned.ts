/**
 * What a server chose and a client sends back (sequences, revisions): learned of one text for the other, and put in place.
 *
 * Equal bodies have equal revisions in CouchDB whatever their id, and not in ours: revisions are learned for each document.
 */
import type { Any } from './recorded';

export class Learned {
  /** Recorded text → ours, for each document it was learned of (`''`: the last). */
  readonly #learned = new Map<string, Map<string, string>>();

  /** @param found in its place in our answer */
  learn(value: string, found: unknown, id: string): void {
    if (found === undefined || found === null) return;
    // A revision is learned by its hash, a sequence whole.
    const ours = /^[0-9a-f]{32}$/.test(value) ? String(found).replace(/^\d+-/, '') : String(found);
    const byId = this.#learned.get(value) ?? new Map<string, string>();
    byId.set(id, ours).set('', ours);
    this.#learned.set(value, byId);
  }

  /** What was learned of it from this document. */
  of(value: string, id: string): string | undefined {
    return this.#learned.get(value)?.get(id);
  }

  /** A recorded text with ours in place. @param which of what was learned */
  text(text: string, id: string, which = /./): string {
    let filled = text;
    for (const [value, byId] of this.#learned) {
      if (which.test(value) && filled.includes(value))
        filled = filled.replaceAll(value, byId.get(id) ?? byId.get('')!);
    }
    return filled;
  }

  /** The same of every text within recorded JSON. */
  json(value: Any, id: string): Any {
    if (typeof value === 'string') return this.text(value, id);
    if (Array.isArray(value)) return value.map((item) => this.json(item, id));
    if (typeof value !== 'object' || value === null) return value;
    const own = value._id ?? value.id ?? id;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        this.json(
          item,
          Array.isArray(item) && id === '' && key !== 'docs' && !key.startsWith('_') ? key : own,
        ),
      ]),
    );
  }

  /** Bytes as recorded, but for what was learned where they are text (a multipart body names revisions). */
  bytes(base64: string, headers: Record<string, string>, id: string): Uint8Array<ArrayBuffer> {
    const bytes = Buffer.from(base64, 'base64');
    const type = Object.entries(headers).find(([name]) => /^content-type$/i.test(name))?.[1] ?? '';
    if (!type.startsWith('multipart/')) return Uint8Array.from(bytes);
    // Digests are of the bytes that are sent, whatever ours are.
    const filled = this.text(bytes.toString('latin1'), id, /^[0-9a-f]{32}$/);
    return Uint8Array.from(Buffer.from(filled, 'latin1'));
  }
}
