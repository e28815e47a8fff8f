/** Runs the command line as a separate process, as an operator would. */

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { request } from 'undici'
import { plainNode } from './plain-node.ts'
import type { Test } from 'tap'

const build = join(import.meta.dirname, '../..')

export const main = join(build, 'headgate.cjs')

const bundledMs = statSync(main).mtimeMs
for (const folder of ['lib', 'pipelines', 'schemas']) {
  for (const name of readdirSync(join(build, folder), { recursive: true, encoding: 'utf8' })) {
    if (name.endsWith('.js') && statSync(join(build, folder, name)).mtimeMs > bundledMs) {
      throw new Error(
        `build/headgate.cjs is older than ${folder}/${name}. Run "npm run build", or these tests run the code before the last change.`
      )
    }
  }
}

/** Only what the test sets: no provider of the machine that runs the tests is enabled. */
const bare = { PATH: process.env['PATH'] ?? '' }

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly error: string
}

export interface Running {
  readonly child: ChildProcess
  /** Resolves with the first line that matches, of either output, including earlier ones. */
  readonly line: (pattern: RegExp) => Promise<RegExpExecArray>
  readonly ended: Promise<Ended>
}

/**
 * Creates a test's directory for processes that write to it, and deletes it once they have exited. Teardowns
 * registered before its creation would otherwise run after its deletion.
 */
export function directoryOf (t: Test, content?: Parameters<Test['testdir']>[0]): string {
  t.teardown(() => undefined)
  return t.testdir(content)
}

/** @param before options of Node.js, and the file to run */
export function launch (
  t: Test,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
  before: readonly string[] = [main]
): Running {
  const [command, parameters] = plainNode(...before, ...args)
  const child = spawn(command, parameters, { cwd, env: { ...bare, ...env } })
  const exit = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const lines: string[] = []
  const errors: string[] = []
  const waiting = new Set<() => void>()
  for (const [stream, list] of [[child.stdout, lines], [child.stderr, errors]] as const) {
    createInterface(stream).on('line', line => {
      list.push(line)
      for (const look of waiting) look()
    })
  }
  const ended = once(child, 'close').then(([code]: unknown[]): Ended => ({
    code: typeof code === 'number' ? code : null, out: lines.join('\n'), error: errors.join('\n')
  }))
  return {
    child,
    ended,
    line: async pattern => {
      let timer: NodeJS.Timeout | undefined
      try {
        return await Promise.race([
          new Promise<RegExpExecArray>((resolve, reject) => {
            const look = (): void => {
              const found = [...lines, ...errors]
                .map(line => pattern.exec(line))
                .find(match => match !== null)
              if (found === undefined) return
              waiting.delete(look)
              resolve(found)
            }
            timer = setTimeout(() => {
              reject(
                new Error(`no line ${pattern} in ${lineMs} ms: ${JSON.stringify([...lines, ...errors])}`)
              )
            }, lineMs)
            waiting.add(look)
            look()
          }),
          ended.then(end => { throw new Error(`ended before ${pattern}: ${JSON.stringify(end)}`) })
        ])
      } finally {
        clearTimeout(timer)
      }
    }
  }
}

/** The longest wait for a line of output: a start on a busy machine takes seconds. */
const lineMs = 60_000

/**
 * Starts a gateway on a free port, and returns it with the key of its first start.
 * @param before options of Node.js
 */
export async function startGateway (
  t: Test,
  cwd: string,
  env: Record<string, string> = {},
  args: readonly string[] = [],
  before: readonly string[] = []
) {
  const running = launch(t, ['start', ...args], cwd, { PORT: '0', ...env }, [...before, main])
  const [, url = ''] = await running.line(/^Headgate listens on (\S+)$/)
  return { ...running, url }
}

export async function ask (
  url: string,
  key: string,
  model = 'sandbox/echo'
): Promise<{ status: number, body: unknown }> {
  const { statusCode, body } = await request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'ping' }] })
  })
  return { status: statusCode, body: await body.json() }
}

/** Lists the running child processes of a process. */
export async function childrenOf (pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(part => part !== '').map(Number)
}
