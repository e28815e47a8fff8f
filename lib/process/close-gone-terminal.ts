import { closeSync } from 'node:fs'
import { isatty } from 'node:tty'

/**
 * Closes at the exit what was a terminal at the start and is gone. Node.js gives terminals back the mode they
 * had, and version 20 aborts where that fails.
 */
export function closeGoneTerminalAtExit (): void {
  const terminals = [0, 1, 2].filter(file => isatty(file))
  if (terminals.length === 0) return
  process.once('exit', () => {
    for (const file of terminals) if (!isatty(file)) closeSync(file)
  })
}
