import t from 'tap'
import { user, send, textOf, message } from '../support/sandbox.ts'

t.test('directives apply to the named model and turn, accumulate, and are not echoed', async t => {
  const status = async (content: string, model = 'echo') =>
    (await send({ model, messages: user(content) })).status
  t.equal(await status('[sandbox: status=500 model=story]'), 200)
  t.equal(await status('[sandbox: status=500 model=story]', 'story'), 500)
  t.equal(await status('[sandbox: status=500 turn=2]'), 200)
  t.equal(await status('[sandbox: status=500] [sandbox: status=503]'), 503)
  const order = '[sandbox: status=500 turn=2]'
  const second = [...user(order), { role: 'assistant', content: 'x' }]
  t.equal((await send({ messages: second })).status, 500)
  t.equal(
    (await send({ messages: [...second, ...user('Next')] })).status,
    200,
    'only the last user message counts'
  )
  t.match((await message({ messages: user(`Say ${order} it`) })).content, '"Say it"')
  t.match((await message({ messages: user(' a  b ') })).content, '" a  b "', 'nothing else is touched')
  t.match(
    (await message({ messages: user('[sandbox: words=40] [SANDBOX: refuse]') })).refusal,
    'instructed to refuse'
  )
  for (const slip of [
    'wat',
    'status',
    'status=200',
    'words=x',
    'words=0',
    'stall=1',
    'after=-1',
    '__proto__=1',
    'code',
    'ms=1e9'
  ]) {
    const answer = await send({ messages: user(`[sandbox: ${slip}]`) })
    t.equal(answer.status, 400, slip)
    t.match(JSON.parse(await textOf(answer)), { error: { code: 'invalid_directive', message: slip } })
  }
})
