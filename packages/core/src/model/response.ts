/** What a `fetch` answers that is not the platform's but the program's, given as an option. */
import { badRequest } from './errors';

/**
 * One that forgets to return its answer must not look like a server that is down, which is asked again and again.
 *
 * @throws bad_request for no Response, and for one that somebody reads already
 */
export function checkResponse(answer: Response | undefined): void {
  if (typeof answer?.headers?.get !== 'function' || answer.bodyUsed || answer.body?.locked)
    throw badRequest('fetch must give a Response that nobody has read');
}
