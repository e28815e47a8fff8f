import { isatty } from 'node:tty'

/**
 * Resolves with the first SIGTERM or SIGINT. The second one exits immediately, for an operator who does
 * not want to wait.
 *
 * A process that was started on a terminal also stops when that is closed, of which SIGHUP is the sign. It
 * does not count as the first signal: a shell and the system may both send it, and `stopWithNpm` a SIGTERM
 * after it. Elsewhere SIGHUP is a request to reload, which others serve; here it only keeps the process from
 * being ended by it, before they listen and after.
 *
 * @param beforeExit called before an immediate exit
 */
export async function stopSignal (beforeExit = (): void => {}): Promise<void> {
  const hasTerminal = isatty(0) || isatty(1)
  await new Promise<void>(resolve => {
    let signalled = false
    const onSignal = (): void => {
      if (signalled) {
        beforeExit()
        process.exit(1)
      }
      signalled = true
      resolve()
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
    process.on('SIGHUP', () => { if (hasTerminal) resolve() })
  })
}
