import t from 'tap'
import { request } from 'undici'
import { directoryOf, ask, childrenOf, startGateway } from '../support/headgate.ts'
import { until } from '../support/until.ts'

t.test('metrics of all workers are served together, only if configured', async t => {
  const plain = await startGateway(t, directoryOf(t), { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' })
  t.match(await ask(plain.url, 'a-key-of-24-characters-00'), { status: 200 })
  plain.child.kill('SIGTERM')
  t.notMatch((await plain.ended).out, /metrics/, 'nowhere by default')

  const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00', HEADGATE_METRICS_PORT: '0' }
  for (const workers of [1, 2]) {
    const gateway = await startGateway(t, directoryOf(t), { ...env, HEADGATE_WORKERS: String(workers) })
    const [, page = ''] = await gateway.line(
      /"url":"(http:\/\/127\.0\.0\.1:\d+\/metrics)","msg":"metrics server listening"/
    )
    const sum = async (name: string): Promise<number> => {
      const text = await (await request(page)).body.text()
      t.notMatch(text, /a-key-of-24-characters-00|environment-/)
      return [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))].reduce(
        (sum, [, value]) => sum + Number(value),
        0
      )
    }
    // At once, so that every worker gets some.
    await Promise.all(
      Array.from({ length: 6 }, async () => await ask(gateway.url, 'a-key-of-24-characters-00'))
    )
    await until(async () => (await sum('headgate_open_calls')) === 0, 'no call to be open')
    t.equal(await sum('headgate_calls_total'), 6)
    t.equal(await sum('headgate_processes'), workers === 1 ? 1 : 3)
    if (workers > 1) {
      process.kill((await childrenOf(gateway.child.pid ?? 0))[0] ?? 0, 'SIGKILL')
      await gateway.line(/worker exited; restarting/)
      t.equal(await sum('headgate_calls_total'), 6, 'the counts of an exited worker remain')
    }
    gateway.child.kill('SIGTERM')
    t.equal((await gateway.ended).code, 0)
    await t.rejects(request(page), { code: 'ECONNREFUSED' })
  }
})
