/** A provider that answers on command, and waiting for processes to end, for tests of complete gateways. */

import { chatAnswer, fakeUpstream, type FakeUpstream } from './upstream.ts'
import type { Test } from 'tap'

/** Starts a provider that answers on command, and writes the file that configures it. */
export async function slowProvider (
  t: Test,
  server = ''
): Promise<{ readonly upstream: FakeUpstream, readonly directory: string, readonly answer: () => void }> {
  let answer = (): void => undefined
  const opened = new Promise<void>(resolve => { answer = resolve })
  const upstream = await fakeUpstream(async () => {
    await opened
    return { pieces: [chatAnswer('late')] }
  })
  t.teardown(upstream.close)
  const directory = t.testdir({
    'headgate.yaml': `server: {${server}}\nproviders:\n  slow: {base_url: '${upstream.url}', list_models: false}\n  sandbox: {}\n`
  })
  return { upstream, directory, answer: () => answer() }
}

/** Resolves when a process that is not a child of this one has ended. */
export async function gone (pid: number, ms = 15_000): Promise<boolean> {
  const deadline = performance.now() + ms
  while (performance.now() < deadline) {
    try {
      process.kill(pid, 0)
    } catch {
      return true
    }
    await new Promise(resolve => { setImmediate(resolve) })
  }
  return false
}
