/** LiteLLM's proxy as a separate process. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort, untilListening } from './free-port.ts'
import type { Test } from 'tap'

/** It takes ten seconds to load, and more on a busy machine. */
const startMs = 240_000

/** The key that may call it. */
export const litellmKey = 'sk-the-key-of-a-test-that-nobody-can-guess'

export interface LitellmProxy {
  readonly url: string
  /** The key that may call it. */
  readonly key: string
}

/**
 * Starts a proxy that is stopped when the test ends.
 * @param python a Python with `litellm[proxy]`
 * @param config its configuration, without a master key
 */
export async function startLitellm (t: Test, python: string, config: object): Promise<LitellmProxy> {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'headgate-litellm-')) // a test has one `testdir`
  const file = join(directory, 'config.json') // JSON is YAML
  writeFileSync(file, JSON.stringify(config))
  const proxy = spawn(
    python,
    [join(dirname(python), 'litellm'), '--config', file, '--host', '127.0.0.1', '--port', String(port)],
    {
      stdio: 'ignore',
      cwd: directory,
      env: {
        PATH: process.env['PATH'],
        HOME: directory,
        LITELLM_MASTER_KEY: litellmKey,
        LITELLM_LOCAL_MODEL_COST_MAP: 'True',
        LITELLM_TELEMETRY: 'False'
      }
    }
  )
  const exit = once(proxy, 'exit')
  t.teardown(async () => {
    proxy.kill('SIGKILL')
    await exit
    rmSync(directory, { recursive: true })
  })
  await Promise.race([
    untilListening(port, startMs),
    exit.then(([code]) => { throw new Error(`LiteLLM ended with ${code}`) })
  ])
  return { url: `http://127.0.0.1:${port}`, key: litellmKey }
}
