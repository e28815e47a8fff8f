/** Chooses one file. */

import type { ComponentChildren, JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { Button } from '../parts/button.tsx'

export interface FileFieldProps {
  readonly label: string
  readonly accept: string
  readonly file: File | undefined
  readonly onFile: (file: File) => void
  /** Other ways to get one. */
  readonly children?: ComponentChildren
}

export function FileField ({ label, accept, file, onFile, children }: FileFieldProps): JSX.Element {
  const input = useRef<HTMLInputElement>(null)
  return (
    <div class='field'>
      <span class='label'>{label}</span>
      <input
        ref={input}
        type='file'
        accept={accept}
        hidden
        aria-label={label}
        onChange={event => {
          const chosen = event.currentTarget.files?.[0]
          if (chosen !== undefined) onFile(chosen)
        }}
      />
      <div class='row'>
        <Button icon='attach' onClick={() => input.current?.click()}>
          Choose a file
        </Button>
        {children}
      </div>
      <span class='hint'>
        {file === undefined ? 'No file yet.' : `${file.name}, ${Math.ceil(file.size / 1024)} KB`}
      </span>
    </div>
  )
}
