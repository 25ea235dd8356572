/**
 * What `work` comes to for each half of a list, one after the other: to find out for which items something failed that was asked for
 * all of them.
 */
export async function inHalves<Item, Answer>(
  list: readonly Item[],
  work: (half: readonly Item[]) => Promise<Answer>,
): Promise<[Answer, Answer]> {
  const middle = Math.ceil(list.length / 2);
  const lower = await work(list.slice(0, middle));
  return [lower, await work(list.slice(middle))];
}
