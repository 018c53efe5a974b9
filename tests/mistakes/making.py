"""List mistakes with generation, poses and the Hugging Face Hub."""

from __future__ import annotations

from tests.mistakes.mistake import read

MISTAKES = read(r"""
neither a configuration nor the demo | gen run --out new
    missing-option | name either a configuration | such as handball.toml | or --demo
no folder for items | gen run --demo
    missing-option | the folder of the dataset is missing | --out | Add --out DATASET
no configuration | gen run c.toml --out new
    missing-file | found no such file | c.toml | Check the path
no video | gen run c.toml --out new
    invalid-value | found 'match.mp4', which does not exist | c.toml: sources.1.path
    Correct the path; it is relative to the folder of c.toml
    file c.toml [[sources]]\nsport = "soccer"\npath = "match.mp4"\n[detect]\nkind = "color"\n
a folder without videos | gen run c.toml --out new
    no-data | videos: found none | clips: videos | Use a video or a folder of videos
    file c.toml [[sources]]\nsport = "soccer"\npath = "clips"\n[detect]\nkind = "color"\n | file clips/a.txt x
    needs av scipy cv2
no sources | gen run c.toml --out new
    missing-value | found none | c.toml: sources | a table [[sources]] with `sport`, and with `path` or `query`
    file c.toml [detect]\nkind = "color"\n
a misspelled table | gen run c.toml --out new
    unknown-key | found an unknown table | c.toml: inpiant | Did you mean 'inpaint'?
    file c.toml [[sources]]\nsport = "soccer"\npath = "."\n[detect]\nkind = "color"\n[inpiant]\n
a misspelled key | gen run c.toml --out new
    unknown-key | expected a known key | c.toml: run.widht | Did you mean 'width'?
    file c.toml [[sources]]\nsport = "soccer"\npath = "."\n[detect]\nkind = "color"\n[run]\nwidht = 640\n
a misspelled key of a source | gen run c.toml --out new
    unknown-key | expected a known key | c.toml: sources.1.licence | Did you mean 'license'?
    file c.toml [[sources]]\nsport = "soccer"\npath = "."\nlicence = "CC0"\n[detect]\nkind = "color"\n
a misspelled kind | gen run c.toml --out new
    invalid-value | found 'yolov8' | c.toml: detect.kind | Did you mean 'yolov8-onnx'?
    file c.toml [[sources]]\nsport = "soccer"\npath = "."\n[detect]\nkind = "yolov8"\n
no kind of detector | gen run c.toml --out new
    invalid-value | found nothing | c.toml: detect.kind | Add kind = "..." to the table [detect]
    file c.toml [[sources]]\nsport = "soccer"\npath = "."\n
a number that is too small | gen run c.toml --out new
    invalid-value | found 0 | c.toml: frames.fps | expected greater than 0
    file c.toml [[sources]]\nsport = "soccer"\npath = "."\n[detect]\nkind = "color"\n[frames]\nfps = 0\n
a broken configuration | gen run c.toml --out new
    invalid-toml | Expected ']' at the end of a table declaration | c.toml: file | Correct the TOML syntax
    file c.toml [run\nwidth = 640\n
items into a folder with other files | gen run c.toml --out photos
    output-exists | photos is not empty and was not made by `spotball gen run` | --out | Use another folder
    file c.toml [[sources]]\nsport = "soccer"\npath = "."\n[detect]\nkind = "color"\n | file photos/a.txt x
no weights | gen run c.toml --out new
    missing-file | yolov8n.onnx does not exist | detect: model | Correct the path, or download the weights
    file c.toml [[sources]]\nsport = "soccer"\npath = "."\n[detect]\nkind = "yolov8-onnx"\nmodel = "yolov8n.onnx"\n
    file a.mp4 x | needs av scipy cv2 onnxruntime
an unknown form of export | gen export data --format yolo --out new
    - | 'yolo' is not one of | --format | 'imagefolder', 'coco', 'parquet'
an export into a folder that exists | gen export data --format coco --out photos
    output-exists | photos exists already | --out | Use a new folder | file photos/a.txt x
a review that was not made | gen apply-review data
    wrong-folder | data has not been reviewed | data | Run `spotball gen review data` first
an unknown estimator of poses | cues poses data --with mediapip --out new
    unknown-name | unknown kind of pose estimator 'mediapip' | Available: | Did you mean 'mediapipe'?
poses without a file | cues poses data --with file --out new
    invalid-value | file is missing | file: | Add --file FILE
an unknown option of an estimator | cues poses data --with file --file k.json --option confidense=1 --out new
    invalid-value | unknown option 'confidense' | Available: file | Available: | file k.json []
nothing to push | push photos --repo me/x --dry-run
    wrong-folder | found no dataset, export or score report | photos: folder | expected scenes.jsonl
    file photos/a.txt x
a repository without a user | push data --repo my-balls --dry-run
    invalid-option | found 'my-balls' | --repo | expected USER/NAME, such as me/my-balls
no token | push data --repo me/x
    missing-key | HF_TOKEN | environment variable | Set the environment variable HF_TOKEN
    env HF_TOKEN= | env HF_ENDPOINT=http://127.0.0.1:9 | needs huggingface_hub
a download into a folder that exists | pull me/x --out photos
    output-exists | photos exists already | --out | Use a new folder | file photos/a.txt x | needs huggingface_hub
""")
