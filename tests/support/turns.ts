/**
 * A store whose calls took 10 ms without a task between answers nothing at once, so that others have their turn; on a busy machine few calls
 * take that. Who asks what is answered at once lets them have it first.
 */
export const othersTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
