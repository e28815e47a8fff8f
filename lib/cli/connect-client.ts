/** `headgate connect`: writes the settings with which Claude Code, Codex and OpenCode use this gateway. */

import { constants } from 'node:fs'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import { createLookupServices } from '../create-services.ts'
import { urlOf } from '../http/listen.ts'
import { readTextFile } from '../net/read-regular-file.ts'
import { runningAt } from '../process/running-gateway.ts'
import { CommandError, type Terminal } from '../process/terminal.ts'
import { hasCode } from '../text/describe-error.ts'
import { withoutTrailingSlashes } from '../text/without-trailing-slashes.ts'
import { errorCode, keyVariable } from '../config/environment.ts'
import { clientSettings } from './client-settings.ts'
import { nearestWord } from '../text/nearest-word.ts'
import type { Command } from './command.ts'
import { terminalLog } from './terminal-log.ts'

export const connectClient: Command = {
  usage: `Usage: headgate connect claude-code|codex|opencode [--url URL] [--model MODEL] [--small-model MODEL] [--write]
                        [-c FILE]

Prints the settings that the program needs to use this gateway, and where they belong. None holds a key: the program
reads it from ${keyVariable}.

  --url URL            default: that of the gateway that runs here, else that of its configuration
  --model MODEL        any model, route or alias; default: sandbox/echo, which tests the connection, if the sandbox is on
  --small-model MODEL  for titles and other small tasks; default: the same
  --write              puts them into the file, beside what it has; a copy of the file is kept
  --file FILE          another file than the one that the program reads
  -c, --config FILE    of the gateway`,

  run: async (args, terminal) => {
    const { positionals: [client, ...others], values } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        config: { type: 'string', short: 'c' },
        model: { type: 'string' },
        'small-model': { type: 'string' },
        write: { type: 'boolean', default: false },
        file: { type: 'string' }
      }
    })
    const known = clientSettings(terminal.env)
    const settings = known.get(client ?? '')
    if (settings === undefined || others.length > 0) {
      throw new CommandError(`name one of ${[...known.keys()].join(', ')}`, { exitCode: 2 })
    }
    const url = values.url ?? addressOf(values.config, terminal)
    if (!/^https?:\/\/[^\s/]/.test(url)) {
      throw new CommandError('--url must start with http:// or https://', { exitCode: 2 })
    }
    const { model = 'sandbox/echo', 'small-model': smallModel = model } = values
    if (values.url === undefined) {
      await checkModels([model, smallModel], values.model === undefined, values.config, terminal)
    }
    const gateway = { url: withoutTrailingSlashes(url).replace(/\/v1$/, ''), model, smallModel }
    const file = values.file === undefined ? settings.file : resolve(terminal.cwd, values.file)
    if (!values.write) {
      terminal.notice(`# ${file}`)
      terminal.out(settings.print(gateway).trimEnd())
    } else {
      const existing = contentOf(file)
      const content = existing === undefined ? settings.print(gateway) : settings.merge(existing, gateway)
      if (content === undefined) {
        throw new CommandError(
          `${file} already has these settings or cannot be read. Run without --write to print them, and add them by hand.`
        )
      }
      const copy = existing === undefined ? undefined : await copyOf(file)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content, { mode: 0o600 })
      terminal.out(copy === undefined ? `Written: ${file}` : `Written: ${file}. The previous file is now ${copy}.`)
    }
    terminal.notice(`# The program reads the key from ${keyVariable}.`)
    return 0
  }
}

/**
 * Looks up the models in the configuration of this gateway; another gateway may have others. A provider may
 * have models that the configuration does not list, so an unknown name is only reported.
 *
 * @throws CommandError if no model was named and the default does not exist
 */
async function checkModels (
  names: readonly string[],
  isDefault: boolean,
  file: string | undefined,
  terminal: Terminal
): Promise<void> {
  const settings = loadSettings({ ...terminal, file })
  const providers = settings.providers.map(provider => ({ ...provider, listModels: false }))
  const services = createLookupServices({ ...settings, providers }, { log: terminalLog(terminal) })
  try {
    for (const name of new Set(names)) {
      if (services.models.routes(name).some(({ modelId }) => services.models.find(modelId) !== undefined)) {
        continue
      }
      if (isDefault) {
        throw new CommandError(
          '--model MODEL is required, since the sandbox is off; "headgate models" lists them',
          { exitCode: 2 }
        )
      }
      const nearest = nearestWord(name, services.models.list().map(({ id }) => id))
      terminal.notice(
        `# This gateway has no model named ${name}${nearest === undefined ? '; "headgate models" lists them.' : `. Did you mean ${nearest}?`}`
      )
    }
  } finally {
    await services.close()
  }
}

/** Returns the address of the gateway that runs, or would run, with a configuration. */
function addressOf (file: string | undefined, terminal: Terminal): string {
  const { server } = loadSettings({ ...terminal, file })
  const running = runningAt(server.dataDir)
  if (running === undefined) {
    terminal.notice(`# No gateway runs here with the data directory ${server.dataDir}.`)
  }
  return server.publicUrl ?? running ?? urlOf({ ...server, secure: server.tls !== undefined })
}

function contentOf (file: string): string | undefined {
  try {
    return readTextFile(file)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw new CommandError(`${file} cannot be read: ${errorCode(error)}.`, { cause: error })
  }
}

/** Copies a file to the first free name next to it, and returns that name. */
async function copyOf (file: string): Promise<string> {
  for (let number = 1; ; number++) {
    const copy = number === 1 ? `${file}.backup` : `${file}.backup-${number}`
    try {
      await copyFile(file, copy, constants.COPYFILE_EXCL)
      return copy
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }
}
