import t from 'tap'
import { readArgs, useTools } from '../../lib/cli/tools.ts'
import { CommandError } from '../../lib/process/terminal.ts'
import { settings } from '../support/settings.ts'

const parts = { toolServers: [], tools: settings().tools }

t.test('the command line explains mistakes', async t => {
  t.match(await run(['list', 'no/such']), { code: 1, error: /Unknown tool server `no\/such`/ })
  for (const args of [
    [],
    ['dance'],
    ['list'],
    ['call', 'a/b'],
    ['call', 'a/b', 'c', '{'],
    ['call', 'a/b', 'c', '[]'],
    ['list', 'a/b', 'c']
  ]) {
    t.match(await run(args), { code: 2, error: /^(?:use|unknown action|the|too many)/ }, args.join(' '))
  }
})

async function run (args: string[]): Promise<{ code: number, out: string, error: string }> {
  let out = ''
  try {
    return { code: await useTools(readArgs(args), parts, text => { out += text }), out, error: '' }
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return { code: error.exitCode, out, error: error.message }
  }
}
