/**
 * Equal Earth: areas keep their size, and the world its shape. B. Šavrič, T. Patterson, B. Jenny, "The Equal Earth map
 * projection", 2018.
 */
const [A1, A2, A3, A4] = [1.340264, -0.081106, 0.000893, 0.003796] as const;
const M = Math.sqrt(3) / 2;

/** The map's extent in the units of {@link project}: half its width, half its height. */
export const [HALF_WIDTH, HALF_HEIGHT] = [2.7066299, 1.3173628] as const;

/** Degrees to a plane with the origin at 0° 0°, x to the east, y to the north. */
export function project(latitude: number, longitude: number): readonly [number, number] {
  const theta = Math.asin(M * Math.sin((latitude * Math.PI) / 180));
  const t2 = theta * theta;
  const t6 = t2 * t2 * t2;
  const lambda = (longitude * Math.PI) / 180;
  return [
    (lambda * Math.cos(theta)) / (M * (A1 + 3 * A2 * t2 + t6 * (7 * A3 + 9 * A4 * t2))),
    theta * (A1 + A2 * t2 + t6 * (A3 + A4 * t2)),
  ];
}
