/** What a journal knows of its being the only one. */
export interface Lock {
  /** An owner ended without releasing it: what it wrote may not be on the disk. */
  readonly leftOpen: boolean;
  /** Such an owner ran before the machine was last started. */
  readonly lostPower: boolean;
  /** False once somebody took it away, who may have opened the folder since. */
  isHeld(): boolean;
  /** Removes the files of dead owners. Not before the log is in order: a later taker must learn of a loss of power too. */
  clear(): void;
  release(): void | Promise<void>;
  /** Instead of {@link release}: nobody holds the lock any more, and the next owner finds the folder left open. */
  forsake(): void | Promise<void>;
}
