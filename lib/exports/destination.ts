/** Where exported files go. */

export interface Destination {
  /** The place, as the log and the admin API show it: without credentials. */
  readonly location: string
  /** The folder in which files are made before they are published. */
  readonly workFolder: string
  /**
   * Puts a complete file in its place under a name, in place of one of that name. Readers see the one before
   * or this one, never a part.
   *
   * @param file in the work folder; it may be gone afterwards
   * @throws where it could not be done, or the signal aborts
   */
  readonly publish: (file: string, name: string, signal: AbortSignal) => Promise<void>
  /**
   * Looks whether files can be put there, as far as that shows without one.
   *
   * @throws where they cannot
   */
  readonly check: (signal: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}
