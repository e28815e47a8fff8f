/** How a primary process and its workers talk: over the channel that every child process has. */

/** What of a process the two ends need: `process` itself, or a worker. Messages of others travel here too. */
export interface IpcChannel<Message> {
  readonly send?: ((message: Message, done: () => void) => unknown) | undefined
  readonly on: (event: 'message' | 'disconnect', listener: (message?: unknown) => void) => unknown
  readonly connected?: boolean
}

/** Sends a message. One that cannot be sent is reported as `disconnect`; without a callback it would be an uncaught error. */
export function send<Message> (other: IpcChannel<Message>, message: Message): void {
  if (other.connected !== false) other.send?.(message, () => {})
}
