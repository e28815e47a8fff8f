import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { askLoudly } from '../../examples/own-stage.ts'
import { textOf } from '../../lib/public/testing.ts'

/** Returns the text of a streamed answer by joining its deltas. */
function streamedText (body: string): string {
  const messages = body.split('\n\n').filter(message => message.startsWith('data: {'))
  const chunks = messages.map(
    message =>
      JSON.parse(message.slice('data: '.length)) as { choices: Array<{ delta: { content?: string } }> }
  )
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')
}

t.test('a custom stage between built-in ones changes streamed and complete answers alike', async t => {
  const body = JSON.parse(await textOf(await askLoudly('is anyone there?', false))) as {
    choices: Array<{ message: { content: string } }>
  }
  const text = body.choices[0]?.message.content ?? ''
  t.match(text, /IS ANYONE THERE\?/)
  t.equal(text, text.toUpperCase())
  t.equal(streamedText(await textOf(await askLoudly('is anyone there?', true))), text)
})

t.test('a custom pipeline for the sandbox takes at most 15 lines, plus its stage', async t => {
  const text = readFileSync(join(import.meta.dirname, '../../../examples/own-stage.ts'), 'utf8')
  const around = text.replaceAll(/\/\*\*[^]*?\*\/\n/g, '').replace(/^export function shout[^]*?^\}\n/m, '')
  t.notMatch(around, /function shout/)
  const lines = around.split('\n').filter(line => line.trim() !== '')
  t.ok(lines.length <= 15, `${lines.length} lines`)
})
