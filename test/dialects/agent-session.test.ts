import t from 'tap'
import { sessionIn } from '../../lib/dialects/agent-session.ts'
import { testGateway, testKey } from '../support/gateway.ts'

const id = '0b7f1d3c-0a51-4a0e-9a52-2f3a3d1f6b7a'

t.test('a session is what an agent names as such, and nothing longer', async t => {
  t.equal(sessionIn(id), id)
  t.equal(sessionIn(undefined, JSON.stringify({ device_id: 'd', account_uuid: '', session_id: id })), id)
  t.equal(sessionIn(undefined, `user_abc_account__session_${id}`), id)
  for (const header of [undefined, '', 'a b', 'x'.repeat(65), [id, id]]) t.equal(sessionIn(header, 'someone'), undefined)
})

t.test('the log names the session of the agent that called', async t => {
  const api = await testGateway(t)
  const model = 'sandbox/echo'
  const [claude, codex] = ['claude-session-1', 'codex-session-1']
  await (await api.post('/v1/messages', { model, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }, { headers: { 'x-claude-code-session-id': claude } })).text()
  await (await api.post('/v1/responses', { model, input: 'hi' }, { headers: { 'session-id': codex } })).text()
  await (await api.post('/v1/chat/completions', { model, messages: 'hi' }, { headers: { 'session-id': codex, authorization: `Bearer ${testKey}` } })).text()
  t.same(api.lines.filter(({ msg }) => msg === 'call').map(({ session }) => session), [claude, codex, undefined])
})
