/**
 * Imported before a program: on SIGUSR2 prints a line with the addresses of its loaded scripts, or the
 * beginning of those compiled from a string, and with the loaded modules of Node.js.
 */

import { Session, type Debugger } from 'node:inspector'

const scripts = new Set<string>()
const session = new Session()
session.connect()
session.on('Debugger.scriptParsed', ({ params }: { params: Debugger.ScriptParsedEventDataType }) => {
  if (params.url !== '') scripts.add(params.url)
  else
    session.post('Debugger.getScriptSource', { scriptId: params.scriptId }, (_, source) =>
      scripts.add(source.scriptSource.slice(0, 100))
    )
})
session.post('Debugger.enable')

// Not documented, but the only list there is.
const { moduleLoadList } = process as unknown as { readonly moduleLoadList: readonly string[] }

process.on('SIGUSR2', () => console.error(`loaded ${JSON.stringify([...scripts, ...moduleLoadList])}`))
