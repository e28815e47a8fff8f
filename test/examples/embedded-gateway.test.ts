import t from 'tap'
import { startGateway } from '../../examples/embedded-gateway.ts'

t.test('a program embeds the complete gateway, with its own keys', async t => {
  const { gateway, url } = await startGateway({ PORT: '0' }, t.testdir())
  t.teardown(async () => await gateway.close())
  const ask = async (key: string): Promise<Response> => await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/echo', messages: 'Is anyone there?' })
  })
  t.equal((await ask('wrong')).status, 401)
  const answer = await ask('secret')
  t.equal(answer.status, 200)
  t.match(await answer.json(), { model: 'sandbox/echo', choices: [{ message: { content: /anyone/ } }] })
})
