import t from 'tap'
import { startGateway } from '../../examples/embedded-store.ts'
import { until } from '../support/until.ts'

t.test(
  'a program embeds the gateway with its store: keys, responses, usage and the dashboard',
  async t => {
    const directory = t.testdir()
    const first = await startGateway({ PORT: '0' }, directory)
    const { key } = await first.keys.create({ name: 'program' })
    const call = async (
      url: string,
      path: string,
      body?: object
    ): Promise<{ status: number, body: unknown }> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const answer = await fetch(`${url}${path}`, {
        headers,
        ...body !== undefined && { method: 'POST', body: JSON.stringify(body) }
      })
      return { status: answer.status, body: await answer.json() }
    }
    const made = await call(first.url, '/v1/responses', {
      model: 'sandbox/echo',
      input: 'Is anyone there?',
      background: true
    })
    t.match(made, { status: 200, body: { status: /queued|in_progress/, store: true } })
    const { id } = made.body as { id: string } // checked by the match
    await until(
      async () =>
        (Object((await call(first.url, `/v1/responses/${id}`)).body) as { status?: unknown }).status ===
        'completed',
      'the response'
    )
    t.equal((await fetch(`${first.url}/dashboard/`)).status, 200)
    await first.close()

    const second = await startGateway({ PORT: '0' }, directory)
    t.teardown(second.close)
    t.match(
      await call(second.url, `/v1/responses/${id}`),
      { status: 200, body: { id, status: 'completed' } },
      'the response and the key still exist'
    )
  }
)
