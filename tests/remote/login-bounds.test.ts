/** What logins may take: keys that are derived at a time, accounts that are remembered, names that are watched, attempts that wait. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Locks } from '../../packages/remote/src/server-locks';
import { hashPassword, Passwords } from '../../packages/remote/src/server-passwords';

const TOO_MANY = { status: 503, name: 'service_unavailable' };
const wrong = async (): Promise<undefined> => undefined;

describe('passwords', () => {
  it('are derived two at a time, 200 wait, and more are turned away', async () => {
    const derived = vi.spyOn(crypto.subtle, 'deriveBits');
    onTestFinished(() => derived.mockRestore());
    const passwords = new Passwords();
    const asked = Array.from({ length: 203 }, () => passwords.pretend('x', 1));
    await expect(asked.pop()).rejects.toMatchObject(TOO_MANY);
    await vi.waitFor(() => expect(derived).toHaveBeenCalled());
    expect(derived.mock.calls.length).toBeLessThanOrEqual(2);
    expect(await Promise.all(asked)).toEqual(Array(202).fill(false));
    expect(await passwords.pretend('x', 1)).toBe(false);
  });

  it('of a thousand accounts are remembered, those that were found right last', async () => {
    const derived = vi.spyOn(crypto.subtle, 'deriveBits');
    onTestFinished(() => derived.mockRestore());
    const passwords = new Passwords();
    const fields: Record<string, unknown>[] = [];
    for (let n = 0; n <= 1_000; n++) fields.push({ ...(await hashPassword('right', 1)) });
    for (const each of fields) expect(await passwords.check('right', each)).toBe(true);
    derived.mockClear();
    expect(await passwords.check('right', fields.at(-1)!)).toBe(true);
    expect(derived).not.toHaveBeenCalled();
    expect(await passwords.check('right', fields[0]!)).toBe(true);
    expect(derived).toHaveBeenCalledOnce();
  });

  it('whose documents ask for more iterations than any server does are wrong, and cost nothing', async () => {
    const derived = vi.spyOn(crypto.subtle, 'deriveBits').mockRejectedValue(new Error('not to be called'));
    onTestFinished(() => derived.mockRestore());
    const fields = { password_scheme: 'pbkdf2', salt: 's', derived_key: 'ab'.repeat(20) };
    expect(await new Passwords().check('x', { ...fields, iterations: 10_000_001 })).toBe(false);
    await expect(new Passwords().check('x', { ...fields, iterations: 10_000_000 })).rejects.toThrow('called');
  });
});

describe('attempts', () => {
  it('of one name wait for those whose passwords are checked: a thousand, and more are turned away', async () => {
    const locks = new Locks();
    let open!: (found: true) => void;
    const right = new Promise<true>((resolve) => {
      open = resolve;
    });
    const asked = Array.from({ length: 1_005 }, () => locks.attempt('a', () => right));
    await expect(locks.attempt('a', () => right)).rejects.toMatchObject(TOO_MANY);
    open(true);
    expect(await Promise.all(asked)).toEqual(Array(1_005).fill(true));
  });

  it('are watched for 10,000 names: the one whose last failure is oldest is forgotten', async () => {
    const locks = new Locks();
    for (let failures = 0; failures < 5; failures++) await locks.attempt('first', wrong);
    const watch = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n++) await locks.attempt(`${n}`, wrong);
    };
    await watch(0, 9_999);
    await expect(locks.attempt('first', wrong)).rejects.toMatchObject({ status: 403 });
    await watch(9_999, 10_000);
    expect(await locks.attempt('first', wrong)).toBeUndefined();
  });
});
