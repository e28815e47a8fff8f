/** Runs a program on a pseudo-terminal, which a test closes as a person closes a window. Needs Python. */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { settles } from './until.ts'
import { plainCommand } from './plain-node.ts'
import type { Test } from 'tap'

export const noTerminal =
  spawnSync('python3', ['-c', 'import pty, fcntl, termios']).status !== 0 &&
  'no Python with pseudo-terminals'

/**
 * Reports the started process, copies its output until there is input, closes the terminal and exits like the
 * process.
 */
const program = `
import fcntl, os, pty, select, subprocess, sys, termios
terminal, other = pty.openpty()
take = (lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if sys.argv[1] == 'owner' else None
child = subprocess.Popen(sys.argv[2:], stdin=other, stdout=other, stderr=other, start_new_session=True, preexec_fn=take)
os.close(other)
print('process', child.pid, flush=True)
while 0 not in select.select([0, terminal], [], [])[0]:
    try:
        os.write(1, os.read(terminal, 65536))
    except OSError:
        break
os.close(terminal)
code = child.wait()
sys.exit(code if code >= 0 else 128 - code)
`

export interface OnTerminal {
  readonly pid: number
  /** Resolves with the first line that matches. */
  readonly line: (pattern: RegExp) => Promise<RegExpExecArray>
  readonly close: () => void
  /** Resolves to the exit code, or 128 plus the signal that ended it. */
  readonly ended: Promise<number | null>
}

/** @param isOwner true for the process that gets SIGHUP when the terminal is closed */
export async function onTerminal (
  t: Test,
  isOwner: boolean,
  command: readonly string[],
  cwd: string,
  env: Record<string, string>
): Promise<OnTerminal> {
  const [name, parameters] = plainCommand(...command)
  const child = spawn('python3', ['-c', program, isOwner ? 'owner' : 'user', name, ...parameters], {
    cwd, env: { PATH: process.env['PATH'] ?? '', ...env }, stdio: ['pipe', 'pipe', 'inherit']
  })
  const ended = once(child, 'exit').then(([code]: unknown[]) => typeof code === 'number' ? code : null)
  let pid = 0
  t.teardown(async () => {
    if (child.exitCode === null && pid > 0) process.kill(pid, 'SIGKILL')
    await ended
  })
  const lines: string[] = []
  const waiting = new Set<() => void>()
  createInterface(child.stdout).on('line', line => {
    lines.push(line)
    for (const look of waiting) look()
  })
  const line = async (pattern: RegExp): Promise<RegExpExecArray> => {
    const found = new Promise<RegExpExecArray>(resolve => {
      const look = (): void => {
        const match = lines.map(text => pattern.exec(text)).find(matched => matched !== null)
        if (match === undefined) return
        waiting.delete(look)
        resolve(match)
      }
      waiting.add(look)
      look()
    })
    return await settles(found, `a line ${pattern}`, 60_000)
  }
  pid = Number((await line(/^process (\d+)/))[1])
  return { pid, line, close: () => child.stdin.end('close'), ended }
}
