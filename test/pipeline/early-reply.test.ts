import t from 'tap'
import { EarlyReply } from '../../lib/pipeline/early-reply.ts'

t.test('a call that ends early has not failed: what is thrown is no error and has no stack', async t => {
  const reply = { status: 202, headers: {}, body: '{}' }
  const early = new EarlyReply(reply)
  t.equal(early.reply, reply)
  t.notOk(early instanceof Error)
  t.notOk('stack' in early)
})
