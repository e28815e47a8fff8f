import t from 'tap'
import { nearestWord } from '../../lib/text/nearest-word.ts'

t.test('the nearest word is found, a far one is not', async t => {
  t.equal(nearestWord('opnai', ['anthropic', 'openai', 'xai']), 'openai')
  t.equal(nearestWord('baseUrl', ['base_url', 'api_key']), 'base_url')
  t.equal(nearestWord('gpt-4.1-mni', ['gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano']), 'gpt-4.1-mini')
  t.equal(nearestWord('same', ['sama', 'samb']), 'sama', 'the first of equals')
  t.equal(nearestWord('weather', ['openai', 'xai']), undefined)
  t.equal(nearestWord('', []), undefined)
})
