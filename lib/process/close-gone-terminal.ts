import { closeSync } from 'node:fs'
import { isatty } from 'node:tty'

/**
 * Closes terminals at exit that have disappeared since the start: Node.js resets the mode of terminals, and
 * version 20 aborts if that fails.
 */
export function closeGoneTerminalAtExit (): void {
  const terminals = [0, 1, 2].filter(file => isatty(file))
  if (terminals.length === 0) return
  process.once('exit', () => {
    for (const file of terminals) if (!isatty(file)) closeSync(file)
  })
}
