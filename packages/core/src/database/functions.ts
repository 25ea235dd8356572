/**
 * Functions kept as text in design documents. Evaluating one runs whatever somebody wrote into the database, with the rights of the
 * program: an application in its own page or process wants that, a server must not do it. Hence {@link Evaluate} is handed down,
 * and a host may refuse.
 */
import { DatabaseError, forbidden, thrownText } from '../model/errors';

/**
 * Makes a function from its source text.
 * @param names what the source may refer to besides globals, for instance `emit`
 * @returns given values for `names`, the function
 * @throws DatabaseError `compilation_error` for text that is not a function; others by policy
 */
export type Evaluate = (
  source: string,
  names?: readonly string[],
) => (...values: unknown[]) => (...args: unknown[]) => unknown;

/** Evaluates in this realm, by `new Function`, in sloppy mode as CouchDB does. */
export const evaluate: Evaluate = (source, names = []) => {
  // A stored source often ends in a semicolon, or in a comment, which the line break closes.
  const expression = source.trim().replace(/;+$/, '');
  const make = compile([...names, `return (${expression}\n);`]);
  return (...values) => {
    let made: unknown;
    try {
      made = make(...values);
    } catch (error) {
      throw compilationError(thrownText(error), source, error);
    }
    if (typeof made !== 'function') throw compilationError('the source is not that of a function', source);
    return made as (...args: unknown[]) => unknown;
  };
};

/** An {@link Evaluate} for hosts that run nobody else's code. */
export const refuseToEvaluate: Evaluate = () => {
  throw forbidden('Functions of design documents are not evaluated here');
};

function compile(parts: string[]): (...values: unknown[]) => unknown {
  try {
    return new Function(...parts) as (...values: unknown[]) => unknown;
  } catch (error) {
    if (error instanceof SyntaxError) throw compilationError(error.message, parts.at(-1)!, error);
    // EvalError: the page's Content Security Policy.
    throw new DatabaseError({
      status: 501,
      name: 'not_implemented',
      reason:
        "This page's Content Security Policy forbids evaluating functions of design documents ('unsafe-eval'); pass the function itself",
      cause: error,
    });
  }
}

/** @param why the source is not that of a function */
export const compilationError = (why: string, source: string, cause?: unknown): DatabaseError =>
  new DatabaseError({
    status: 500,
    name: 'compilation_error',
    reason: `Expression does not eval to a function (${why}): ${source}`,
    cause,
  });
