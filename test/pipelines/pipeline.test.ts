import t from 'tap'
import { EarlyReply } from '../../lib/core/reply.ts'
import { map, type Stage } from '../../lib/pipeline/stage.ts'
import { chatCompletions } from '../../lib/dialects/chat-completions/index.ts'
import { answerReply } from '../../lib/replies/answer-reply.ts'
import { jsonReply } from '../../lib/replies/reply-with.ts'
import { normalise } from '../../lib/stages/normalise.ts'
import { pipeline } from '../../pipelines/pipeline.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Batch } from '../../lib/core/call.ts'
import type { ChatEvent } from '../../lib/core/events.ts'

const reply = { status: 200, headers: {}, body: 'early' }

t.test('a call goes through every stage in order, however the stages were built', async t => {
  const exclaim: Stage<string> = async function * (source) {
    for await (const text of source) yield `${text}!`
  }
  const handle = pipeline(
    map((text: string) => `${text}a`),
    map((text: string) => `${text}b`),
    exclaim,
    map(async (text: string) => `${text}c`),
    jsonReply()
  )
  t.equal((await handle('_')).body, '"_ab!c"')
  t.equal((await handle('-')).body, '"-ab!c"', 'and the next one too')
})

t.test('a stage can end a call early with a reply; later stages do not run', async t => {
  let later = 0
  const early = map((early: boolean) => {
    if (early) throw new EarlyReply(reply)
    return early
  })
  const handle = pipeline(early, map(value => { later++; return value }), jsonReply())
  t.equal(await handle(true), reply)
  t.equal(later, 0)
  t.equal((await handle(false)).body, 'false')
  t.equal(later, 1)
  t.notOk(new EarlyReply(reply) instanceof Error, 'it is no failure, and has no stack')
})

t.test(
  'a reply from the first stage is returned even without an await before it',
  async t => {
    const early = map((): Batch<ChatInput, ChatEvent> => {
      throw new EarlyReply(reply)
    })
    t.equal(await pipeline(early, normalise(), answerReply(chatCompletions))(1), reply)
  }
)

t.test('the pipeline rejects with any other error that a stage throws', async t => {
  const handle = pipeline(map(() => { throw new Error('broken') }), jsonReply())
  await t.rejects(handle(1), { message: 'broken' })
})
