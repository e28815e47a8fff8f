/** The chat of the playground: models side by side, one message for all of them. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { catalogue, isChatModel, loadCatalogue } from '../state/catalogue.ts'
import { query } from '../state/router.ts'
import { CodeDialog } from './code-dialog.tsx'
import { Composer } from './composer.tsx'
import { clearConversation, maxPanes, newPane, panes, servers } from './conversation.ts'
import { PaneView } from './pane-view.tsx'
import { RouteDialog } from './route-dialog.tsx'
import { Settings } from './settings.tsx'

export function Chat (): JSX.Element {
  const open = useSignal<'route' | 'code' | 'settings' | undefined>(undefined)
  const close = (): void => {
    open.value = undefined
  }
  useEffect(() => {
    void begin()
  }, [])
  return (
    <div class='chat'>
      <div class='chat-main'>
        <div class='panes' data-count={panes.value.length}>
          {panes.value.map(pane => (
            <PaneView key={pane.id} pane={pane} closable={panes.value.length > 1} />
          ))}
        </div>
        <Composer
          onExplain={() => {
            open.value = 'route'
          }}
          onCode={() => {
            open.value = 'code'
          }}
        />
      </div>
      <aside class='chat-side' aria-label='Settings'>
        <Tools />
        <Settings />
      </aside>
      <div class='chat-tools'>
        <Tools />
        <Button
          small
          icon='settings'
          onClick={() => {
            open.value = 'settings'
          }}
        >
          Settings
        </Button>
      </div>
      {open.value === 'route' && <RouteDialog onClose={close} />}
      {open.value === 'code' && <CodeDialog onClose={close} />}
      {open.value === 'settings' && (
        <Dialog title='Settings' onClose={close}>
          <Settings />
        </Dialog>
      )}
    </div>
  )
}

function Tools (): JSX.Element {
  const empty = panes.value.every(({ turns }) => turns.value.length === 0)
  return (
    <div class='row'>
      <Button
        small
        icon='split'
        disabled={panes.value.length >= maxPanes}
        onClick={() => {
          panes.value = [...panes.value, newPane(defaultModel())]
        }}
      >
        Compare
      </Button>
      <Button small kind='plain' icon='trash' disabled={empty} onClick={clearConversation}>
        Clear
      </Button>
    </div>
  )
}

/** Takes the model and the tools from the address, otherwise any model that answers. */
async function begin (): Promise<void> {
  const [wanted, tools] = [query.value.get('model'), query.value.get('tools')]
  const [first] = panes.value
  if (first !== undefined && wanted !== null) first.model.value = wanted
  if (tools !== null && !servers.value.includes(tools)) servers.value = [...servers.value, tools]
  await loadCatalogue()
  for (const pane of panes.value) if (pane.model.value === '') pane.model.value = defaultModel()
}

/** Returns a model that no pane has yet, preferably not the simulator's. */
function defaultModel (): string {
  const used = new Set(panes.value.map(({ model }) => model.value))
  const models = catalogue.value.filter(
    entry => entry.status !== 'disabled' && isChatModel(entry) && !used.has(entry.id)
  )
  return (models.find(({ provider_id }) => provider_id !== 'sandbox') ?? models[0])?.id ?? ''
}
