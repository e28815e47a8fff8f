import t from 'tap'
import { AnswerCheck } from '../../lib/load/answer-check.ts'
import {
  completeAnswer,
  completeText,
  lastFrames,
  roleFrame,
  streamPieces,
  texts
} from '../../lib/load/answers.ts'

t.test('an answer with every frame and the whole text passes, however it is cut', async t => {
  const complete = Buffer.from(streamPieces(8).join(''))
  const check = new AnswerCheck({ frames: texts.length + 4, text: texts.join('') })
  t.equal(check.answer([complete]), texts.length + 4)
  t.equal(check.answer([complete.subarray(0, 700), complete.subarray(700)]), texts.length + 4)
  t.equal(new AnswerCheck({ frames: 0, text: completeText }).answer([Buffer.from(completeAnswer)]), 0)
})

t.test('an answer that lost a frame, changed a text or broke off fails', async t => {
  const pieces = streamPieces(1)
  const stream = (parts: readonly string[]): Buffer[] => [Buffer.from(parts.join(''))]
  const check = (): AnswerCheck => new AnswerCheck({ frames: texts.length + 4, text: texts.join('') })
  t.throws(() => check().answer(stream(pieces.toSpliced(7, 1))), /204 frames were sent, 203 came/)
  t.throws(() => check().answer(stream(pieces.toSpliced(7, 1, pieces[8] ?? ''))), /a different text came/)
  t.throws(() => check().answer(stream([...pieces.slice(0, -1), pieces[7] ?? ''])), /frames were sent/)
  t.throws(() => check().answer(stream([...pieces, roleFrame].toSpliced(7, 1))), /does not end/)
  t.throws(
    () => new AnswerCheck({ frames: 0, text: completeText }).answer([Buffer.from('{"choices":[]}')]),
    /a different answer/
  )
  t.match(lastFrames, /data: \[DONE\]\n\n$/)
})

t.test('an endpoint without conversation has its own check', async t => {
  const check = new AnswerCheck({ frames: 0 }, undefined, body => {
    if (body.toString() !== 'sound') throw new Error('another sound came')
  })
  t.equal(check.stamped, false)
  t.equal(check.answer([Buffer.from('sou'), Buffer.from('nd')]), 0)
  t.throws(() => check.answer([Buffer.from('noise!')]), /another sound came/)
})
