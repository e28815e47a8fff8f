import { isatty } from 'node:tty'

/**
 * Resolves with the first SIGTERM or SIGINT. The second one exits immediately, for an operator who does not
 * want to wait.
 *
 * A process started on a terminal also stops when the terminal closes, which SIGHUP signals. SIGHUP does not
 * count as the first signal: a shell and the system may both send it, and `stopWithNpm` a SIGTERM after it.
 * Elsewhere SIGHUP requests a reload, which others handle; here it is only kept from ending the process while
 * they do not listen.
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
