/**
 * Runs a program of the operating system: bytes in, bytes out. The program ends with the call. The system
 * limits its memory and processor time, since a crafted document can use any amount of both.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { CallSignal } from '../core/call.ts'

export interface RunOptions {
  /** Written to its standard input. */
  readonly input?: Uint8Array
  /** Kills the program. */
  readonly signal: CallSignal
  /** Maximum bytes of its standard output; more kills it. */
  readonly maxBytes: number
  /** Maximum memory in kilobytes; some systems, such as macOS, cannot limit it. Default: 2 GiB. */
  readonly memoryKilobytes?: number
}

/**
 * The program gets none of our environment, which holds keys. One thread each, since several run in parallel.
 */
const env = { PATH: '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin', OMP_THREAD_LIMIT: '1' }
/** Characters of its standard error to log. */
const errorCharacters = 500

/** Seconds of processor time: the largest picture takes a quarter of it. */
const seconds = 60
const bounded = `ulimit -t ${seconds}; ulimit -d "$1" 2>/dev/null; shift; exec "$@"`

/**
 * @throws Error when the program cannot be started, fails, prints too much, or exceeds its time or memory;
 *   the signal's reason when that aborts
 */
export async function runProgram (
  path: string,
  args: readonly string[],
  { input, signal, maxBytes, memoryKilobytes = 2 * 1024 * 1024 }: RunOptions
): Promise<Buffer> {
  signal.throwIfAborted()
  const child = spawn('/bin/sh', ['-c', bounded, 'sh', String(memoryKilobytes), path, ...args], {
    env,
    stdio: ['pipe', 'pipe', 'pipe']
  })
  const pieces: Buffer[] = []
  let sizeBytes = 0
  let complaint = ''
  const onAbort = (): void => { child.kill('SIGKILL') }
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await once(child, 'spawn') // fails if the system has no descriptors left: then there are no pipes
    return await new Promise<Buffer>((resolve, reject) => {
      child.stdout.on('data', (bytes: Buffer) => {
        sizeBytes += bytes.length
        if (sizeBytes > maxBytes) child.kill('SIGKILL')
        else pieces.push(bytes)
      })
      child.stderr.on('data', (bytes: Buffer) => {
        if (complaint.length < errorCharacters) complaint += bytes.toString('latin1', 0, errorCharacters)
      })
      // It may end without reading all of its input; only its exit matters.
      child.stdin.on('error', () => undefined)
      child.once('error', reject)
      child.once('close', code => {
        if (signal.aborted) reject(signal.reason)
        else if (code === 0) resolve(Buffer.concat(pieces, sizeBytes))
        else reject(new Error(`${path} ended with ${String(code)}: ${complaint}`))
      })
      child.stdin.end(input)
    })
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
