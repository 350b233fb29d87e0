#!/bin/sh
# Run in a stage of an image: builds /ffmpeg/ffmpeg from Debian's source package, with what decodes the audio that the worker accepts
# and nothing else. Debian's own binary needs 480 MB of libraries for video, devices and X, and is under the GPL; this one is under
# the LGPL, and a file of a stranger reaches no decoder of video and no protocol of the network.
# /ffmpeg/about has its version and licence, for bill.mjs.
set -eu
# As in Debian's images. apt takes the newest source of the suite, security fixes included.
sed -i 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/debian.sources
apt-get update
apt-get install -y --no-install-recommends dpkg-dev gcc libc6-dev make nasm
mkdir -p /ffmpeg/about /ffmpeg/source
cd /ffmpeg/source
apt-get source ffmpeg
cd ffmpeg-*/
# The demuxers are those that apps/worker/src/parent/audio/ffmpeg.ts asks for by name.
./configure --disable-everything --disable-autodetect --disable-network --disable-doc --disable-debug \
  --disable-ffplay --disable-ffprobe --disable-avdevice --disable-postproc --disable-swscale \
  --enable-protocol=pipe,cache,subfile \
  --enable-demuxer=wav,aiff,flac,mp3,ogg,mov,matroska,aac,caf,asf,amr,au \
  --enable-parser=aac,aac_latm,ac3,amr,flac,gsm,mpegaudio,opus,vorbis \
  --enable-decoder='aac,aac_latm,ac3,adpcm_*,alac,amr*,eac3,flac,gsm*,mace*,mp1float,mp2float,mp3float,opus,pcm_*,qdm*,vorbis,wma*' \
  --enable-filter=aformat,anull,aresample,atrim --enable-encoder=pcm_f32le --enable-muxer=pcm_f32le
make -j"$(nproc)" ffmpeg
cp ffmpeg /ffmpeg/
cp COPYING.LGPLv2.1 /ffmpeg/about/
dpkg-parsechangelog --show-field Version > /ffmpeg/about/version
cd /
rm -r /ffmpeg/source
