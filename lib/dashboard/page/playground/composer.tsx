/**
 * The field for the next message: Enter sends, Shift+Enter starts a new line; files are chosen, dropped or
 * pasted.
 */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { useAction } from '../state/action.ts'
import { readAttachment, type Attachment } from './attachments.ts'
import { isRunning, panes } from './conversation.ts'
import { send, stop } from './send.ts'

export function Composer ({
  onExplain,
  onCode
}: {
  readonly onExplain: () => void
  readonly onCode: () => void
}): JSX.Element {
  const text = useSignal('')
  const attachments = useSignal<readonly Attachment[]>([])
  const files = useRef<HTMLInputElement>(null)
  const { run, error } = useAction()
  const running = isRunning()
  const ready =
    !running &&
    (text.value.trim() !== '' || attachments.value.length > 0) &&
    panes.value.every(({ model }) => model.value !== '')

  const submit = (): void => {
    if (!ready) return
    send(text.value.trim(), attachments.value)
    text.value = ''
    attachments.value = []
  }
  const attach = (list: FileList | undefined | null): void => {
    const chosen = [...(list ?? [])]
    if (chosen.length > 0) {
      void run(async () => {
        attachments.value = [...attachments.value, ...(await Promise.all(chosen.map(readAttachment)))]
      })
    }
  }
  return (
    <form
      class='composer'
      onSubmit={event => {
        event.preventDefault()
        submit()
      }}
      onDragOver={event => event.preventDefault()}
      onDrop={event => {
        event.preventDefault()
        attach(event.dataTransfer?.files)
      }}
    >
      {attachments.value.length > 0 && (
        <div class='row'>
          {attachments.value.map(({ id, name }) => (
            <span class='tag' key={id}>
              <Icon name='attach' size={13} />
              <span class='truncate'>{name}</span>
              <button
                type='button'
                aria-label={`Remove ${name}`}
                onClick={() => {
                  attachments.value = attachments.value.filter(other => other.id !== id)
                }}
              >
                <Icon name='close' size={12} />
              </button>
            </span>
          ))}
        </div>
      )}
      {error !== undefined && (
        <span class='small bad' role='alert'>
          {error.message}
        </span>
      )}
      <textarea
        aria-label='Message'
        placeholder='Write a message'
        rows={2}
        value={text.value}
        onInput={event => {
          text.value = event.currentTarget.value
        }}
        onPaste={event => attach(event.clipboardData?.files)}
        onKeyDown={event => {
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
            event.preventDefault()
            submit()
          }
        }}
      />
      <div class='row still'>
        <input
          ref={files}
          type='file'
          multiple
          hidden
          aria-label='Files'
          onChange={event => {
            attach(event.currentTarget.files)
            event.currentTarget.value = ''
          }}
        />
        <Button
          kind='plain'
          small
          icon='attach'
          label='Attach files'
          onClick={() => files.current?.click()}
        />
        <Button kind='plain' small icon='split' onClick={onExplain}>
          Route
        </Button>
        <Button kind='plain' small icon='code' onClick={onCode}>
          As code
        </Button>
        <span class='grow' />
        {running ? (
          <Button small icon='stop' onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button small kind='primary' icon='send' type='submit' disabled={!ready}>
            Send
          </Button>
        )}
      </div>
    </form>
  )
}
