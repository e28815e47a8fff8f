/** Defines where exported files go. */

export interface Destination {
  /** The place for the log and the admin API: without credentials. */
  readonly location: string
  /** The folder in which files are written before they are published. */
  readonly workFolder: string
  /**
   * Publishes a complete file under a name, replacing an existing one. Readers see either the old file or the
   * new one, never a part.
   *
   * @param file in the work folder; it may have been moved afterwards
   * @throws if it could not be published, or the signal aborts
   */
  readonly publish: (file: string, name: string, signal: AbortSignal) => Promise<void>
  /**
   * Checks whether files can be published, as far as possible without one.
   *
   * @throws if they cannot
   */
  readonly check: (signal: AbortSignal) => Promise<void>
  readonly close: () => Promise<void>
}
