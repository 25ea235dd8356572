export interface Failure {
  readonly project: string;
  readonly config?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly file: { readonly name: string };
  readonly test: { readonly name: string; readonly messages: readonly string[] };
}

export function forSecondRun(runs: readonly object[]): Failure[];
export function runAgain(failed: readonly Failure[]): Promise<boolean>;
