import t from 'tap'
import { closeJudges, type Judge } from '../../lib/guards/text-judge.ts'

t.test('all judges are closed, even if one of them fails to', async t => {
  const closed: string[] = []
  const judge = (name: string, close?: () => Promise<void>): readonly [string, Judge] => [
    name,
    {
      inspect: async () => ({}),
      close: async () => {
        closed.push(name)
        await close?.()
      }
    }
  ]
  await closeJudges(
    new Map([
      judge('a', async () => {
        throw new Error('no')
      }),
      judge('b'),
      ['c', { inspect: async () => ({}) }]
    ])
  )
  t.same(closed, ['a', 'b'])
})
