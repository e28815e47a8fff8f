import t from 'tap'
import * as characters from '../../lib/json/characters.ts'

t.test('white space is what JSON.parse accepts as such', async t => {
  const taken = Array.from({ length: 65_536 }, (_, code) => code).filter(code => {
    try {
      return JSON.parse(`${String.fromCharCode(code)}[]`) !== undefined
    } catch {
      return false
    }
  })
  t.same(taken.filter(code => !characters.isSpace(code)), [])
  t.equal(taken.length, 4)
  t.notOk(characters.isSpace(undefined))
})

t.test('each constant is the code of the character it is named after', async t => {
  const { quote, openObject, closeObject, openList, closeList, colon, comma, backslash } = characters
  t.equal(
    String.fromCharCode(openObject, quote, backslash, colon, openList, comma, closeList, closeObject),
    '{"\\:[,]}'
  )
})
