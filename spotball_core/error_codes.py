"""Name every kind of error that a user can cause, with its cause, an example and the fix.

`docs/reference/errors.md` is generated from `EXPLANATIONS`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Code = Literal[
    "ambiguous-name",
    "assumed-format",
    "cannot-estimate",
    "changed-file",
    "conflicting-options",
    "damaged-store",
    "different-grids",
    "different-settings",
    "download-failed",
    "duplicate",
    "failed",
    "in-use",
    "incompatible-data",
    "invalid-boxes",
    "invalid-cell",
    "invalid-csv",
    "invalid-distribution",
    "invalid-grid",
    "invalid-json",
    "invalid-key",
    "invalid-option",
    "invalid-path",
    "invalid-toml",
    "invalid-value",
    "misread-answers",
    "missing-column",
    "missing-extra",
    "missing-file",
    "missing-key",
    "missing-option",
    "missing-package",
    "missing-truth",
    "missing-value",
    "newer-version",
    "no-data",
    "out-of-memory",
    "output-exists",
    "outside-grid",
    "provider-failed",
    "request-rejected",
    "stage-failed",
    "study-failed",
    "too-large",
    "too-many-failures",
    "unknown-column",
    "unknown-image",
    "unknown-key",
    "unknown-name",
    "unreadable-file",
    "unsupported-device",
    "unsupported-format",
    "unsupported-option",
    "unusable-address",
    "unusable-model",
    "unusable-plugin",
    "unusable-store",
    "unusable-video",
    "unwritable-output",
    "worker-failed",
    "wrong-file",
    "wrong-folder",
    "wrong-shape",
    "wrong-type",
]
"""The kinds of errors. A code never changes its meaning."""

CODES: tuple[Code, ...] = get_args(Code)


class Explanation(NamedTuple):
    """What one kind of error means.

    Attributes:
        cause: what is wrong.
        example: a message with this code.
        fix: what the user can do.
    """

    cause: str
    example: str
    fix: str


EXPLANATIONS: dict[Code, Explanation] = {
    "ambiguous-name": Explanation(
        "A name fits several groups, files or scenes.",
        "'gemini' names 2 groups: gemini/base, gemini/cot. Pass one of these names",
        "Use one of the listed names.",
    ),
    "assumed-format": Explanation(
        "A file is not in the usual format, but can be read in only one way. This is an error only with --strict.",
        "p.csv:1: header: found fields separated by semicolons, expected commas. The file is read with semicolons",
        "Check that the message is right. Save the file in the usual format to avoid the warning.",
    ),
    "cannot-estimate": Explanation(
        "The data does not determine the quantity: there are too few rows, a term does not vary, or no optimum exists.",
        "the likelihood has no maximum for these cues. Use a ridge above 0",
        "Add data, or remove the terms that the message names.",
    ),
    "changed-file": Explanation(
        "A file has changed since the run began.",
        "a.mp4: video: found changed content, expected the content from the start of the run. Restore the file",
        "Restore the file, or start a new run in another folder.",
    ),
    "conflicting-options": Explanation(
        "Two options exclude each other, or one has no effect with the other.",
        "--kept and --all cannot be combined. Remove one of them",
        "Remove one of the options.",
    ),
    "damaged-store": Explanation(
        "A database that the package wrote is damaged, or is not a database of this kind.",
        "run/replies.sqlite: the file is damaged (database disk image is malformed). Restore it from a backup",
        "Restore the file from a backup, or start over.",
    ),
    "different-grids": Explanation(
        "Parts with different grids cannot be used together.",
        "the scenes have grids of different sizes (3 x 4, 6 x 10). Split them by grid size",
        "Use the same grid for all parts, or score the images of each grid separately.",
    ),
    "different-settings": Explanation(
        "The folder contains a run, batch or study that was started with other settings.",
        "--out: batch was written with other settings (model). Name another folder",
        "Repeat the command with the earlier settings, or name another folder.",
    ),
    "download-failed": Explanation(
        "A download or upload failed, or its content differs from what the server announced.",
        "me/my-balls: scenes.jsonl: found 10 bytes, expected the content that the Hub lists (2,048 bytes). Try again",
        "Check the connection and the name, and retry.",
    ),
    "duplicate": Explanation(
        "An entry that must be unique occurs more than once.",
        "p.csv: cell: found two columns with this name, expected only one. Remove or rename the other column",
        "Remove or rename one of the entries.",
    ),
    "failed": Explanation(
        "An error without a more specific code, usually from a plugin.",
        "the plugin reports an error",
        "Follow the message.",
    ),
    "in-use": Explanation(
        "Another process uses the folder.",
        "run is in use by another process. Wait until it ends",
        "Wait until the other process ends, or stop it.",
    ),
    "incompatible-data": Explanation(
        "The parts of the data contradict each other.",
        "two files describe the stimulus s1 differently. Correct one of them",
        "Correct one of the parts that the message names.",
    ),
    "invalid-boxes": Explanation(
        "Bounding boxes have a wrong shape, missing coordinates, or corners in the wrong order.",
        "boxes: a box has x2 < x1 or y2 < y1. Give corners as x1, y1, x2, y2, not x, y, width, height",
        "Give the boxes as corners x1, y1, x2, y2 in pixels.",
    ),
    "invalid-cell": Explanation(
        "A value does not name a cell of a grid.",
        "'X' is not a cell label. Write a row letter and a column number, such as D5",
        "Write a label such as D5, an index, or a pair (row, column).",
    ),
    "invalid-csv": Explanation(
        "A line does not follow the rules of CSV files.",
        "p.csv:2: line: found 3 fields, expected 2 fields, as in the header",
        "Correct the line. Quote fields that contain commas or line breaks.",
    ),
    "invalid-distribution": Explanation(
        "The numbers are not counts or probabilities over cells.",
        "guesses: found -4.09434, expected counts or probabilities of at least 0",
        "Pass one finite number of at least 0 per cell, or labels of cells.",
    ),
    "invalid-grid": Explanation(
        "The size of a grid or of its image is invalid.",
        "rows: found 0, expected a whole number of at least 1",
        "Give whole numbers of rows and columns, and the size of the image in pixels.",
    ),
    "invalid-json": Explanation(
        "A file or line is not valid JSON, or not the kind of JSON that is needed.",
        "p.json:2: file: found Extra data, expected valid JSON",
        "Correct the line. A file of JSON Lines has one object per line.",
    ),
    "invalid-key": Explanation(
        "An API key contains characters that keys cannot have.",
        "OPENAI_API_KEY contains a character that is not allowed in keys. Check the key",
        "Set the environment variable to the key alone, without spaces or quotes.",
    ),
    "invalid-option": Explanation(
        "An option or an argument has an invalid value.",
        "--alpha: found 3, expected a number between 0 and 1, such as 0.05",
        "Use a value as the message describes.",
    ),
    "invalid-path": Explanation(
        "A path in a file leads outside its folder or is not allowed.",
        "data/../x.png: path: found '../x.png', expected a relative path without ..",
        "Use a path relative to the folder of the dataset.",
    ),
    "invalid-toml": Explanation(
        "A configuration is not valid TOML.",
        "c.toml: file: found Expected ']' at the end of a table declaration, expected a configuration",
        "Correct the line that the message names.",
    ),
    "invalid-value": Explanation(
        "A value in a file or a table is invalid.",
        "p.csv:2: kind: found 'llm', expected human or model or baseline",
        "Correct the value in the line and the field that the message names.",
    ),
    "misread-answers": Explanation(
        "The answers show that they have another form than the one they are read in, such as rows counted from 0.",
        "p.csv:2: x, y: found values between 0 and 1 in all 50 points, expected pixels. Add --point-scale 1",
        "Add the option that the message names. If the answers are right, add --accept-signs.",
    ),
    "missing-column": Explanation(
        "A table does not have a column that is needed.",
        "p.csv: image: found the columns img, cell, expected a column `image`. Add --columns image=img",
        "Rename the column, or state its name with --columns.",
    ),
    "missing-extra": Explanation(
        "A feature needs libraries that are not installed.",
        'figures needs the "report" extra: pip install ".[report]"',
        "Run the command in the message.",
    ),
    "missing-file": Explanation(
        "A file or folder does not exist.",
        "trials.csv: file: found no such file, expected a CSV file. Check the path",
        "Correct the path.",
    ),
    "missing-key": Explanation(
        "A provider needs an API key.",
        "openai needs a key. Set the environment variable OPENAI_API_KEY",
        "Set the environment variable that the message names.",
    ),
    "missing-option": Explanation(
        "An option, argument or setting is needed but is not given.",
        "add --provider NAME and --model NAME, or --preset NAME",
        "Add the option that the message names.",
    ),
    "missing-package": Explanation(
        "A program or package that no extra installs is missing.",
        "searching for videos needs the command yt-dlp. Install it: pip install yt-dlp",
        "Install the package that the message names.",
    ),
    "missing-truth": Explanation(
        "The ground truth is missing: neither scenes nor a truth table is given.",
        "p.csv: scenes: found none, expected a dataset folder, a scenes file or a truth table. Add --scenes FILE",
        "Add --scenes FILE or --truth TABLE (in Python: `scenes` or `truth`).",
    ),
    "missing-value": Explanation(
        "A field that is needed is empty or absent.",
        "s.jsonl:1: height: found nothing, expected a value. Add height",
        "Add the value in the line and the field that the message names.",
    ),
    "newer-version": Explanation(
        "A later version of spotball-core wrote this file.",
        "run/replies.sqlite: a later version of spotball-core wrote this file (schema 9, expected at most 5)",
        "Update spotball-core.",
    ),
    "no-data": Explanation(
        "Nothing is left to work on: no files, rows, images or responses.",
        "truth: found nothing. Pass at least one image",
        "Add data, or relax the selection.",
    ),
    "out-of-memory": Explanation(
        "The memory is not enough for this step.",
        "distances need 12 GB of memory, but only 4 GB are available. Use a coarser grid",
        "Use a smaller model, a coarser grid, less concurrency, or a machine with more memory.",
    ),
    "output-exists": Explanation(
        "The output folder or file exists and contains other files, which would be lost.",
        "--out: mine.txt is a file. Name a folder",
        "Name another folder.",
    ),
    "outside-grid": Explanation(
        "A cell or a point is outside the grid or the image.",
        "'Z9' is outside the grid, whose cells run from A1 to F10",
        "Correct the value, or give the right grid.",
    ),
    "provider-failed": Explanation(
        "The server did not answer, or its answer is malformed. The request was retried.",
        "api.example.org: no response within 120 s",
        "Rerun the command later; completed requests are not repeated.",
    ),
    "request-rejected": Explanation(
        "The server rejects the request.",
        "api.example.org: HTTP 404: the model does not exist",
        "Follow the server's message.",
    ),
    "stage-failed": Explanation(
        "A stage of `spotball gen run` failed.",
        "detect 'yolov8-onnx' failed on the last 10 items",
        "Fix the cause that the message names and rerun the command.",
    ),
    "study-failed": Explanation(
        "A request of a simulated participant to the study's server failed.",
        "GET /session: HTTP 500",
        "See the server's log.",
    ),
    "too-large": Explanation(
        "A file, a table or a text is larger than is allowed.",
        "p.csv: file: found 2,500 columns, expected at most 2000",
        "Split the file, or shorten the text.",
    ),
    "too-many-failures": Explanation(
        "A run stopped because too many requests failed in a row.",
        "20 requests in a row failed on every attempt; the last error: HTTP 500",
        "Fix the cause and rerun the command; completed requests are not repeated.",
    ),
    "unknown-column": Explanation(
        "The name of a column looks like a misspelled name.",
        "p.jsonl:2: promt: found an unknown column, expected the column prompt. Rename the unknown column to prompt",
        "Rename or remove the column.",
    ),
    "unknown-image": Explanation(
        "An answer names an image or a stimulus that the scenes or stimuli do not contain.",
        "p.csv:2: image: found '1' of football, expected an image of the scenes file: soccer has 3 images, such as '1'",
        "Correct the id, or use the scenes to which the answers belong.",
    ),
    "unknown-key": Explanation(
        "A record or a configuration has a key that does not exist.",
        "c.toml: run.widht: found 640, expected a known key. Remove it or correct its spelling. Did you mean 'width'?",
        "Correct the spelling of the key, or remove it.",
    ),
    "unknown-name": Explanation(
        "A name does not exist.",
        "--sport: unknown sport 'socer'. Did you mean 'soccer'? Available: soccer",
        "Use one of the available names.",
    ),
    "unreadable-file": Explanation(
        "A file cannot be opened or decoded.",
        "p.csv:2: line: found byte 0xf6, which is not UTF-8, expected text in UTF-8. Save the file as UTF-8 and retry",
        "Check the permissions, and save the file in a format that the message names.",
    ),
    "unsupported-device": Explanation(
        "The device that the settings name is not available.",
        'detect: device: PyTorch finds no CUDA device on this machine. Set `device` to "auto" or "cpu"',
        "Choose another device.",
    ),
    "unsupported-format": Explanation(
        "The ending of an output file is not supported.",
        "counts.csv: expected a file name ending in .counts",
        "Use a supported ending.",
    ),
    "unsupported-option": Explanation(
        "The provider or model does not support the option.",
        "--api: the provider baseline has only one API. Remove --api",
        "Remove the option, or choose another provider.",
    ),
    "unusable-address": Explanation(
        "A server cannot listen on this address.",
        "--host 127.0.0.1 --port 80: Permission denied. Choose another address or a free port",
        "Choose another address or a free port.",
    ),
    "unusable-model": Explanation(
        "The files of a model cannot be loaded, or the model is of another kind.",
        "detect: yolo.onnx: the input of the model is not an image",
        "Choose a model of the kind that the message names, or export it again.",
    ),
    "unusable-plugin": Explanation(
        "A plugin of another package cannot be loaded, or conflicts with another one.",
        "the provider 'mine' (my-package 1.0) cannot be loaded: No module named 'x'. Update or uninstall this package",
        "Update or uninstall the package that the message names.",
    ),
    "unusable-store": Explanation(
        "A database cannot be opened or used.",
        "run/replies.sqlite: unable to open database file",
        "Check the path, the permissions and the free disk space.",
    ),
    "unusable-video": Explanation(
        "A video cannot be decoded, or no image of the required size can be cut from it.",
        "the file contains no video",
        "Use another video, or change the settings that the message names.",
    ),
    "unwritable-output": Explanation(
        "The output cannot be written.",
        "--out: cannot write to results: [Errno 13] Permission denied. Name another folder",
        "Name another folder, or free disk space.",
    ),
    "worker-failed": Explanation(
        "A worker process or the Ray cluster failed.",
        "the operating system or a user killed a worker process, probably because memory ran out",
        "Use fewer processes, and check the cluster.",
    ),
    "wrong-file": Explanation(
        "The file is of another kind than is needed.",
        "p.csv:1: header: found fields separated by semicolons, expected fields separated by commas",
        "Name a file of the kind that the message describes.",
    ),
    "wrong-folder": Explanation(
        "The folder does not contain what the command needs.",
        "data has not been reviewed. Run `spotball gen review data` first",
        "Name the folder that the message describes.",
    ),
    "wrong-shape": Explanation(
        "Arrays have a wrong shape, or do not fit together.",
        "the arguments have shapes (2, 60) and (3, 60), which do not broadcast",
        "Pass one number per cell on the last axis, and the same number of images in each argument.",
    ),
    "wrong-type": Explanation(
        "An argument in Python has the wrong type.",
        "responses: found int, expected paths, a data frame, a list of records, or a mapping from image id to answer",
        "Pass a value of one of the listed types.",
    ),
}
"""The meaning of each code."""
