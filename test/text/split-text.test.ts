import t from 'tap'
import { splitText } from '../../lib/text/split-text.ts'

t.test('a text is split into parts of equal length, and the rest', async t => {
  t.same([...splitText('abcde', 2)], ['ab', 'cd', 'e'])
  t.same([...splitText('ab', 2)], ['ab'])
  t.same([...splitText('', 2)], [])
})

t.test('no character is split', async t => {
  t.same([...splitText('a🎈b🎈', 2)], ['a', '🎈', 'b', '🎈'])
})
