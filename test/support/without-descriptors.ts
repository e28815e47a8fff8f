import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Runs modules in a process that has no file descriptors left, as a gateway with too many sockets.
 * @param setup loads the modules: later no file can be opened
 * @param attempt an expression for a promise that must be rejected
 * @param after a second expression, for what must still work then
 * @returns the code of the rejection
 * @throws Error if the process fails, as with an uncaught exception
 */
export async function withoutDescriptors (
  setup: string,
  attempt: string,
  after = 'undefined'
): Promise<string> {
  const program = `
    import { openSync, closeSync } from 'node:fs'
    ${setup}
    const open = []
    try {
      for (;;) open.push(openSync('/dev/null'))
    } catch (error) {
      if (error.code !== 'EMFILE') throw error
    }
    const code = await ${attempt}.then(() => 'none', error => error.code)
    await new Promise(resolve => setImmediate(resolve))
    await ${after}
    open.forEach(closeSync)
    console.log(code)
  `
  const { stdout } = await promisify(execFile)('/bin/sh', [
    '-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, '--input-type=module', '--eval', program
  ])
  return stdout.trim()
}
