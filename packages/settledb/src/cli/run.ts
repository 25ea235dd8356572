/** Which command is meant, and with what. */
import { createRequire } from 'node:module';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { isDatabaseError, whyOf } from '@settledb/core';
import { type Command, commands } from './commands';
import { complain } from './say';

/** The exit codes: what was asked is done; it failed; it was not understood. */
const [DONE, FAILED, MISUSED] = [0, 1, 2];

const HELP = { help: { type: 'boolean', short: 'h' } } as const;

/** @returns the exit code */
export async function run(args: readonly string[]): Promise<number> {
  const [name = 'help', ...rest] = args;
  if (['help', '--help', '-h'].includes(name)) return answered(overview());
  if (['--version', '-v'].includes(name)) return answered(version());
  const command = Object.hasOwn(commands, name) ? commands[name as keyof typeof commands] : undefined;
  if (command === undefined) return misused(`there is no command ${JSON.stringify(name)}. ${SEE_HELP}`);
  const given = parsed(name, command, rest);
  if (typeof given === 'string') return misused(`${given}\n\n${usage(name, command)}`);
  if (given.values.help === true) return answered(usage(name, command));
  try {
    return (await command.run(given.positionals, given.values)) ? DONE : FAILED;
  } catch (error) {
    complain(wordsOf(error));
    return FAILED;
  }
}

const SEE_HELP = '`settledb help` lists them';

interface Given {
  readonly positionals: string[];
  readonly values: Record<string, unknown>;
}

/** @returns a text if that cannot be meant */
function parsed(name: string, { takes, options = {} }: Command, args: readonly string[]): Given | string {
  try {
    const config: ParseArgsConfig = {
      args: [...args],
      options: { ...options, ...HELP },
      allowPositionals: true,
    };
    const { positionals, values } = parseArgs(config);
    const [least, most] = [takes.filter((each) => !each.endsWith('?')).length, takes.length];
    if (values.help !== true && (positionals.length < least || positionals.length > most))
      return `${name} takes ${takes.map(shown).join(' ')}`;
    return { positionals, values };
  } catch (error) {
    return (error as Error).message;
  }
}

const shown = (argument: string): string =>
  argument.endsWith('?') ? `[${argument.slice(0, -1)}]` : `<${argument}>`;

function usage(name: string, { takes, options = {}, does, more = [] }: Command): string {
  const flags = Object.entries(options).map(
    ([flag, { type }]) => `[--${flag}${type === 'string' ? ' …' : ''}]`,
  );
  return [
    `settledb ${[name, ...takes.map(shown), ...flags].join(' ')}`,
    `  ${does}`,
    ...more.map((line) => `  ${line}`),
  ].join('\n');
}

function overview(): string {
  const rows = Object.entries(commands).map(([name, { takes, does }]) => [
    `  settledb ${[name, ...takes.map(shown)].join(' ')}`,
    does,
  ]);
  const width = Math.max(...rows.map(([left]) => left!.length)) + 2;
  return [
    ...rows.map(([left, right]) => `${left!.padEnd(width)}${right}`),
    '',
    'A <db> is the path of a folder, or a URL. The password of a URL may be in SETTLEDB_PASSWORD: https://me@couch.example/notes.',
    '`settledb <command> --help` says more.',
  ].join('\n');
}

/** That of the package, whose folder holds `dist`, in which this lies. */
const version = (): string => createRequire(import.meta.url)('../package.json').version;

function wordsOf(error: unknown): string {
  if (isDatabaseError(error)) return `${error.name}: ${error.reason}`;
  return whyOf(error);
}

function answered(words: string): number {
  console.log(words);
  return DONE;
}

function misused(words: string): number {
  complain(words);
  return MISUSED;
}
